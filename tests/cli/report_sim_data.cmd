spad sim input/exp_rows.spad -D N=3 --data picture2.json >/dev/null; cat picture2.json; rm picture2.json
