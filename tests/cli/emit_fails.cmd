spad emit ../../examples/buffers.csv -o no/such/file.h
