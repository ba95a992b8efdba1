spad plan input/spaces_each.csv --space sram=100KiB --space dram | grep -v '^time'
