spad emit ../../examples/kernels/07_gemm_sm80.spad -D S=8 -D KT=12
