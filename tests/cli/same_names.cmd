# Two agents with tensors of one name: places and emitted names say whose they are.
kernel=../../examples/kernels/07_gemm_sm80.spad
spad plan $kernel -o - 2>/dev/null | grep registers
spad emit $kernel --lang c | grep '<- "'
spad emit $kernel --lang csv | grep registers
spad emit $kernel --lang json | grep '"frag"'
spad emit $kernel --lang nki | grep -A 3 FRAG
