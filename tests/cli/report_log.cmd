spad replay input/memory_log.csv --text | tail -n +6
