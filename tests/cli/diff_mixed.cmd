spad diff input/exp_rows.spad ../../examples/buffers.csv -D N=4
