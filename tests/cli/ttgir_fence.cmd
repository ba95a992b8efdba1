spad check --no-advice ../ttgir/matmul_sm90_s3_v36.ttgir
