spad emit input/exp_rows.spad
