spad plan input/plan_header.csv
