spad check ../../examples/kernels/wrong/20_ring_too_shallow.spad --data picture.json >/dev/null; cat picture.json; rm picture.json
