spad plan input/no_such.csv
