spad plan input/plan.csv --json | sed 's/"nanoseconds": .*/"nanoseconds": 0,/'
