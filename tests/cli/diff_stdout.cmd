spad diff ../../examples/buffers.csv ../../examples/buffers.csv --json --report -
