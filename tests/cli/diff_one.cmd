spad diff ../../examples/buffers.csv
