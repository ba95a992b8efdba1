spad check ../ttgir/matmul_sm80_s3_v36.ttgir -D Q=1
printf "module {\n  llvm.func @f() {\n  }\n}\n" | spad check -
printf "module {\n  tt.func public @f(%%n: i32) {\n    tt.return\n  }\n}\n" | spad check - --target sm_90
printf "module {\n  tt.func public @f(%%n: i32) {\n    triton_gpu.async_wait {num = 0 : i32}\n    tt.return\n  }\n}\n" | spad check - --target A100
printf 'module attributes {ttg.target = "cuda:80"} {\n  tt.func public @f(%%n: i32) {\n  }\n  tt.func public @g(%%n: i32) {\n  }\n}\n' | spad check -
spad check ../ttgir/matmul_sm80_s3_v36.ttgir -D K=4000000000
