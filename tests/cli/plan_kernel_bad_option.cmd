spad plan input/loop.spad --capacity 9; spad plan input/loop.spad --json -o -; spad plan input/plan.csv -D N=3; spad plan input/loop.spad -o /nowhere/x
