spad plan input/soft.csv --previous input/soft_old.csv | grep -v '^time'
