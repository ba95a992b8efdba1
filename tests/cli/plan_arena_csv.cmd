spad plan input/plan.csv --arena x; spad plan input/loop.spad --arena x
