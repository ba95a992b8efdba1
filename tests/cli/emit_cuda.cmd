spad emit ../../examples/kernels/08_gemm_sm90.spad --lang cuda --name gemm
