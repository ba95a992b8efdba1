spad plan input/plan.csv --capacity 18 | sed 's/^time .*/time/'; exit ${PIPESTATUS[0]}
