# Kernels that are wrong in ways that one statement for a whole warp, or for an unknown operand, could hide.
check() { spad cuda check ../ptx/claims.ptx --no-advice --kernel "$@" --arg in='i32[96]' --arg out='i32[96]' 2>&1 | grep -v '^ \|note:\|executed\|loops'; }
for kernel in other_thread_waits volatile_data barrier_from_data; do check $kernel --block 64; done
check flag_of_another_warp --block 96
spad cuda check ../ptx/claims.ptx --no-advice --kernel cluster_barrier_skipped --grid 2 --block 64 --arg out='i32[64]' 2>&1 | grep -v '^ \|note:\|executed'
