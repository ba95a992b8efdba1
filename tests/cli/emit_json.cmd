spad emit ../../examples/buffers.csv --lang json --capacity 170000
