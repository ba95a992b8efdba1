sed 's/wait mmas pending 1/wait mmas pending 2/' ../../examples/kernels/08_gemm_sm90.spad | spad check -
