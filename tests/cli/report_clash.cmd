spad check ../../examples/kernels/wrong/20_ring_too_shallow.spad --json --text
