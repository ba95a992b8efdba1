spad plan input/wishes.csv --previous input/wishes.csv
