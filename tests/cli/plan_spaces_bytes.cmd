spad plan input/spaces.csv --space a=3x
