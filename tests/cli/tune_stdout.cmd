spad tune ../../examples/kernels/01_exp_rows.spad --json -o -
