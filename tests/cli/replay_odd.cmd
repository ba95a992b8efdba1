spad replay input/memory_log_odd.csv --grow 8192 | sed 's/ *[0-9.]* ms *[0-9.]* ns/ TIME/'
