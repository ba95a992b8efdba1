spad plan input/spaces.csv --space sram=100KiB --space dram -o - 2>/dev/null
