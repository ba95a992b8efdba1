spad check ../../examples/kernels/wrong/41_registers_not_fenced.spad
spad check ../../examples/kernels/wrong/41_accumulator_not_fenced.spad
spad check ../../examples/kernels/wrong/41_fence_for_other_memory.spad
