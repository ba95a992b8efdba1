spad sim ../../examples/kernels/08_gemm_sm90.spad
