spad emit input/exp_rows.spad --lang nki
