spad tune input/pipeline.spad --release | tail -9
