spad check --no-advice ../ttgir/matmul_sm80_s3_v36.ttgir -D K=4096
spad check --no-advice ../ttgir/matmul_tma_ws_sm100_s3_v39.ttgir -D K=256
spad plan ../ttgir/matmul_tma_sm90_s3_v39.ttgir -D K=256
