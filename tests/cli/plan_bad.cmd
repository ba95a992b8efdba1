spad plan input/plan_bad.csv
