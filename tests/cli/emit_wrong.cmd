spad emit ../../examples/kernels/wrong/20_ring_too_shallow.spad
echo $?
spad emit ../../examples/kernels/wrong/20_ring_too_shallow.spad --force --lang csv 2>/dev/null
