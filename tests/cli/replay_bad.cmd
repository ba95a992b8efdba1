spad replay input/memory_log_bad.csv
