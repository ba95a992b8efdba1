spad sim input/exp_rows.spad -D N=3 --trace picture.trace >/dev/null; cat picture.trace; rm picture.trace
