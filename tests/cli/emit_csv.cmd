spad emit ../../examples/buffers.csv --lang csv
