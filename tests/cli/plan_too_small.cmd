spad plan input/plan.csv --capacity 17 | sed 's/^time .*/time/'; exit ${PIPESTATUS[0]}
