# Loops that never end, or not in this life: each ends in time, with one message. What is too much is refused.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
check() {
    printf '.version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p) {\n%s\n}\n' "$1" >"$folder/k.ptx"
    shift
    spad cuda check "$folder/k.ptx" --timeout 0.5 --arg p='u32[64]' "$@" 2>&1 | sed "s|$folder/||; s/after [0-9]* /after N /"
}
check '.reg .b32 %r<3>; L: add.s32 %r1, %r1, 1; bra L;' --block 64
check 'L: bar.sync 0; bra L;' --block 64
check '.shared .b32 s; L: st.shared.u32 [s], 1; bra L;' --block 64
check '.reg .b32 %r<3>; .reg .pred %p; mov.u32 %r1, 0; L: add.s32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 1000000000; @%p bra L; ret;' --block 32
check 'L: bra L;' --block 64
check 'ret;' --block 0
check 'ret;' --block 32 --grid 4,0
check 'ret;' --block 32 --cluster 0
check 'ret;' --block 32 --cta 1
check 'ret;' --block 32 --smem 300000
