spad tune --depth 0 ../../examples/kernels/01_exp_rows.spad
