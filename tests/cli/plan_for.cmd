for goal in time bytes; do spad plan input/pipeline.spad --release --for $goal | sed -n 1,6p; done; spad plan input/pipeline.spad --release | sed -n 2,5p
