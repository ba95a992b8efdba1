spad diff ../../examples/buffers.csv input/buffers_after.csv
