spad plan ../../examples/kernels/11_online_softmax.spad --for time; spad plan ../../examples/kernels/11_online_softmax.spad --for time --steps | sed -n 2,3p
