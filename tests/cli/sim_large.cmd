spad sim ../../examples/kernels/01_exp_rows.spad -D N=1000000000
