spad plan input/pipeline.spad --for speed; spad plan input/pipeline.spad --frontier -o x.csv; spad plan ../../examples/buffers.csv --release
