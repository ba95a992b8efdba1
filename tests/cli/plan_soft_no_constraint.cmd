spad plan input/plan.csv --slack 3
