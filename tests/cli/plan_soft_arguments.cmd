spad plan input/soft.csv --count-moves; spad plan input/soft.csv --reuse-cost 2; spad plan input/spaces.csv --count-moves
