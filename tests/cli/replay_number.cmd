spad replay input/memory_log.csv --max lots
