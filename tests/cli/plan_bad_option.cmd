spad plan input/plan.csv --capasity 3
