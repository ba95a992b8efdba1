spad plan input/reserved.csv -o - 2>/dev/null
