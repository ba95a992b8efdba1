spad check ../../examples/kernels/wrong/20_ring_too_shallow.spad --svg picture.svg >/dev/null; cat picture.svg; rm picture.svg
