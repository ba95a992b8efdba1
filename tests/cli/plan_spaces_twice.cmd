spad plan input/spaces.csv --space a=3 --space a
