spad plan input/pipeline.spad --frontier; spad plan input/pipeline.spad --frontier --release
