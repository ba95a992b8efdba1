spad tune --steps ../../examples/kernels/10_gemm_sm100.spad --target sm_103
