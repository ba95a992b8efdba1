spad plan ../../examples/buffers.csv --svg - 2>/dev/null | head -3
