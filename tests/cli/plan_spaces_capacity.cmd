spad plan input/spaces.csv --capacity 3
