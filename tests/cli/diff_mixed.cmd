spad diff ../../examples/kernels/01_exp_rows.spad ../../examples/buffers.csv -D N=4
