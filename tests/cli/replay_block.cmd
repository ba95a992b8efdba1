spad replay input/memory_log.csv --block 48
