spad plan input/spaces.csv --space sram=80KiB --space dram=100KiB
