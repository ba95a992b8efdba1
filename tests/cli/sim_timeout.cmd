spad sim ../../examples/kernels/01_exp_rows.spad -D N=100000 --timeout 0.000000001
