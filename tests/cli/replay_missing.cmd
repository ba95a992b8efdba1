spad replay input/nothing.csv
