# A warp waits for its loads from tensor memory before they are freed; one that does not.
check() { spad cuda check ../ptx/tensor_memory.ptx --no-advice --block 128 --arg in='u32[128]' --arg out='u32[128]' --kernel "$@" || echo "exit $?"; }
check keep
check keep_early
