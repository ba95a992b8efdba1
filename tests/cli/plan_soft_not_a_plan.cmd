spad plan input/soft.csv --previous input/soft.csv
