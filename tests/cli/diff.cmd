spad diff input/exp_rows.spad input/exp_rows.spad -D N=4 --ring-b x=3
