# The calls that the line of a note was inlined into, on request.
check() { spad cuda check ../ptx/ring.ptx --no-advice --grid 2 --block 32 --smem 8192 --arg map=unknown --arg out='f32[32]' --arg tiles=0 "$@" 2>&1 >/dev/null | head -6; }
check
check --all
