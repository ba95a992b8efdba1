spad plan input/plan.csv --timeout 0.000001 | grep '^buffers'
