spad replay - --json --block 512 --align 512 --grow 8192 <input/memory_log.csv | sed 's/"nanoseconds": [0-9]*/"nanoseconds": N/'
