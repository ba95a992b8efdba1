spad emit ../../examples/kernels/08_gemm_sm90.spad --lang tilelang --name gemm
