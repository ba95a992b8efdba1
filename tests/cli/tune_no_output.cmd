spad tune ../../examples/kernels/01_exp_rows.spad -o no/such/folder/k.spad
