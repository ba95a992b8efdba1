spad emit ../../examples/buffers.csv --lang cud
