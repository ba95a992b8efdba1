spad plan input/spaces.csv --space sam=80KiB --space dram=100KiB
