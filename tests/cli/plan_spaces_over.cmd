spad plan input/spaces_each.csv --space sram=80KiB --space dram -o out.csv | grep -v '^time'
