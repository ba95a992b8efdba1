spad plan input/spaces.csv --space sram=100KiB --space dram | grep -v '^time'
