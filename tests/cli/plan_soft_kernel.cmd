spad plan input/../../../examples/kernels/01_exp_rows.spad --slack 3
