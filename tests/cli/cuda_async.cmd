# Bulk copies: a ring that is right, one whose stages are released before they are read, and a store without its proxy fence.
check() { spad cuda check ../ptx/copies.ptx --no-advice --kernel "$@" || echo "exit $?"; }
check ring_sum --block 160 --arg in='f32[8,256]' --arg out='f32[128]' --arg tiles=8
check ring_sum_early --block 160 --arg in='f32[8,256]' --arg out='f32[128]' --arg tiles=8
check store --block 128 --arg out='f32[256]' --arg by=1.5
check store_unfenced --block 128 --arg out='f32[256]' --arg by=1.5
spad cuda plan ../ptx/copies.ptx --kernel ring_sum --block 160 --arg in='f32[8,256]' --arg out='f32[128]' --arg tiles=8
