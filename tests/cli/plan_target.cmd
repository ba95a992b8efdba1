spad plan input/plan.csv --target 910b --space ub | sed 's/^time .*/time/'; exit ${PIPESTATUS[0]}
