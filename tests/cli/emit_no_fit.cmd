spad emit ../../examples/buffers.csv --capacity 1000
