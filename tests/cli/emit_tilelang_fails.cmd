spad emit ../../examples/kernels/01_exp_rows.spad --lang tilelang
