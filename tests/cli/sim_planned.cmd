spad sim ../../examples/kernels/02_matmul_0_basic.spad
