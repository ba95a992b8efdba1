spad plan input/spaces.csv --target nosuch
