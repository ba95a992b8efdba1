spad plan input/spaces_trn2.csv --target trn2 -o - 2>/dev/null
