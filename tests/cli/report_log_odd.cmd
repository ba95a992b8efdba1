spad replay input/memory_log_odd.csv --text | tail -n +8
