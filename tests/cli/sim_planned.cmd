spad sim --planned ../../examples/kernels/02_matmul_0_basic.spad
