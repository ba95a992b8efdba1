spad emit input/spaces.csv
