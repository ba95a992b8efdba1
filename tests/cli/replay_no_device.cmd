spad replay input/memory_log.csv --device host:7
