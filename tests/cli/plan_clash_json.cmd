spad plan input/plan_clash.csv --json | sed 's/"nanoseconds": .*/"nanoseconds": 0,/'; exit ${PIPESTATUS[0]}
