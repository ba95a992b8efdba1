spad plan input/spaces.csv --slack 3
