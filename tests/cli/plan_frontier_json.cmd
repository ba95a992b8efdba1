spad plan input/pipeline.spad --frontier --release --json
