spad plan ../../examples/buffers.csv --report /dev/full >/dev/null
