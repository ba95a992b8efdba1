spad plan input/soft.csv --reuse-steps 1 --reuse-cost 2 --slack 8 | grep -v '^time'
