spad plan input/spaces_each.csv --end-exclusive --space sram=100KiB --space dram --text | grep ' box'
