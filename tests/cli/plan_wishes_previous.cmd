spad plan input/wishes.csv --previous input/wishes_old.csv | grep -v '^time'
