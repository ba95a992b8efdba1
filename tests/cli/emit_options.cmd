spad emit input/exp_rows.spad --capacity 1000; spad emit ../../examples/buffers.csv -D N=3; spad emit ../../examples/buffers.csv --space sbuf; spad emit
