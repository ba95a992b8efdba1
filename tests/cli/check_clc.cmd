spad check ../../examples/kernels/17_gemm_clc.spad
spad check ../../examples/kernels/wrong/40_answer_released_early.spad
spad check ../../examples/kernels/wrong/42_last_answer_not_read.spad
spad check ../../examples/kernels/wrong/42_asked_without_tile.spad
