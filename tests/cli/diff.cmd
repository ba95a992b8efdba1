spad diff ../../examples/kernels/01_exp_rows.spad ../../examples/kernels/01_exp_rows.spad -D N=4 --ring-b x=3
