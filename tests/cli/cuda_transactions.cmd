# A tensor map whose box is not what the kernel expects: named with both sides, ahead of the deadlock that it is.
check() { spad cuda check ../ptx/ring.ptx --no-advice --grid 2 --block 64 --smem 8192 --arg map="tensormap:f32[16,256],box[$1]" --arg out='f32[32]' --arg tiles=3 2>&1 | grep -e 'expects' -e '^ring'; }
check 1,256
check 1,128
check 2,256
# without lines of the source
grep -v '\.loc' ../ptx/ring.ptx >"$work/bare.ptx"
spad cuda check "$work/bare.ptx" --no-advice --grid 2 --block 64 --smem 8192 --arg map="tensormap:f32[16,256],box[1,128]" --arg out='f32[32]' --arg tiles=1 2>&1 | grep -o 'error: an mbarrier.*'
