spad check ../../examples/kernels/wrong/32_double_free.spad --text
