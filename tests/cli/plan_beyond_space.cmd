spad plan input/plan.csv --target 910b --space ub --capacity 999999999
