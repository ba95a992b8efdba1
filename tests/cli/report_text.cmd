spad check ../../examples/kernels/wrong/20_ring_too_shallow.spad --text | tail -n +11
