spad plan input/plan.csv --arena x; spad plan input/loop.spad --arena x; spad plan input/plan.csv --no-views; spad plan input/loop.spad --alignment 16
