spad plan input/plan.csv --capacity lots
