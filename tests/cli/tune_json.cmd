spad tune --json --depth 3 ../../examples/kernels/01_exp_rows.spad
