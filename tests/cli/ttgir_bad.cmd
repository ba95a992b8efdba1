spad check ../ttgir/matmul_sm80_s3_v36.ttgir -D Q=1
printf "module {\n  llvm.func @f() {\n  }\n}\n" | spad check -
