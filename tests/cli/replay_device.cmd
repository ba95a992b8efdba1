spad replay input/memory_log.csv --device gpu
