spad tune ../../examples/kernels/01_exp_rows.spad --depth 2305843009213693950
