spad plan ../../examples/buffers.csv --report no/such/folder.html >/dev/null
