spad sim ../../examples/kernels/01_exp_rows.spad
