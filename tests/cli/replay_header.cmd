spad replay input/plan.csv
