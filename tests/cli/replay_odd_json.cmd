spad replay input/memory_log_odd.csv --json --grow 8192 | sed 's/"nanoseconds": [0-9]*/"nanoseconds": N/' | head -13
