spad check ../../examples/kernels/01_exp_rows.spad ../../examples/kernels/01_tensor_add.spad --text
