spad replay input/memory_log.csv --max 4096 --grow 4096 | sed 's/ *[0-9.]* ms *[0-9.]* ns/ TIME/'; spad replay input/memory_log.csv --max 4096 --grow 4096 >/dev/null
