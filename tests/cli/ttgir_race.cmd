spad check ../ttgir/dot_and_sum_sm90_s3_v39.ttgir -D N=512 -D K=512
