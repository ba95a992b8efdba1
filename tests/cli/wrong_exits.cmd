for kernel in 32_double_free 35_allocation_order; do
    for command in check plan fit emit sim 'sim --apart' tune; do
        spad $command ../../examples/kernels/wrong/$kernel.spad >/dev/null 2>&1
        echo "$kernel: $command: $?"
    done
done
for kernel in 15_index_outside 16_does_not_fit 17_cannot_run; do
    spad sim ../../examples/kernels/wrong/$kernel.spad >/dev/null 2>&1
    echo "$kernel: sim: $?"
done
spad plan ../../examples/kernels/wrong/32_double_free.spad
