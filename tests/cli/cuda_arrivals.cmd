# Copies that arrive when they are complete: added to the phase (one phase has none), and forgotten.
check() { spad cuda check ../ptx/arrivals.ptx --no-advice --block 128 --arg in='f32[5,128]' --arg out='f32[5,128]' --arg rounds=5 --kernel "$@" || echo "exit $?"; }
check reverse_rows
check reverse_rows_early
# An mbarrier may be used by copies without a fence after its init.
sed '/fence.mbarrier_init/d' ../ptx/copies.ptx >"$work/unfenced.ptx"
spad cuda check "$work/unfenced.ptx" --no-advice --kernel ring_sum --block 160 --arg in='f32[8,256]' --arg out='f32[128]' --arg tiles=8 2>/dev/null | tail -1
