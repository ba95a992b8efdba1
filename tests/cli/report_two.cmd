spad check input/exp_rows.spad ../../examples/kernels/01_tensor_add.spad --text
