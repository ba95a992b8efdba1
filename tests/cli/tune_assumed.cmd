spad tune ../../examples/kernels/08_gemm_sm90.spad; echo $?; spad tune ../../examples/kernels/08_gemm_sm90.spad --json; spad tune ../../examples/kernels/08_gemm_sm90.spad --steps --json | sed -n 2,9p
