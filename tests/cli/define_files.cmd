spad check input/loop.spad input/exp_rows.spad -D Q=3
spad fit input/loop.spad input/exp_rows.spad --ring q=3
