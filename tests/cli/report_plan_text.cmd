spad plan ../../examples/buffers.csv --capacity 150000 --text | tail -n +19
