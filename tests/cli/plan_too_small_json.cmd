spad plan input/plan.csv --capacity 17 --json | sed 's/"nanoseconds": .*/"nanoseconds": 0,/'; exit ${PIPESTATUS[0]}
