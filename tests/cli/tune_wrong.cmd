spad tune ../../examples/kernels/wrong/42_deadlock.spad
echo $?
spad tune ../../examples/kernels/wrong/20_ring_too_shallow.spad --json 2>/dev/null
echo $?
spad tune ../../examples/kernels/wrong/20_ring_too_shallow.spad --force 2>&1 | grep -e although -e tuned
