spad targets check input/sm_90_plain.chip; spad sim ../../examples/kernels/08_gemm_sm90.spad --target input/sm_90_plain.chip | head -5
