spad plan ../../examples/buffers.csv --svg - | tail -n +7 | head -3
