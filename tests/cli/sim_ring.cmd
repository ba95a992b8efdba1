spad sim ../../examples/kernels/01_exp_rows.spad --ring x=1 -D N=4
