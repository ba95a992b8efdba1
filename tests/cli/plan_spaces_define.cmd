spad plan input/spaces.csv -D N=3
