spad tune ../../examples/kernels/02_matmul_2_hoisted.spad
