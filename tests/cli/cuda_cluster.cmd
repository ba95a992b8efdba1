# Blocks of a cluster that read each other's shared memory: one waits for its peer before it ends, one does not.
check() { spad cuda check ../ptx/peers.ptx --no-advice --grid 2 --block 64 --arg out='f32[64]' --kernel "$@" || echo "exit $?"; }
check swap_parts
check swap_parts_and_leave
