spad tune ../../examples/kernels/01_exp_rows.spad -o - 2>/dev/null
