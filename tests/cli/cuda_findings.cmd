# One form in JSON and SARIF: the line of CUDA C++ first, the line of PTX after it, also for errors of the execution
# and for a barrier that nobody declares.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
check() { spad cuda check "$@" 2>/dev/null; }
beyond="../ptx/reduce.ptx --block 128 --kernel sums_beyond --smem 512 --arg in=f32[128] --arg out=f32[128]"
check $beyond --json
check $beyond --sarif - | sed -n '/"results"/,/"occurrenceCount"/p'
cat >"$folder/count.ptx" <<'END'
.version 8.0
.target sm_90a
.address_size 64
.visible .entry wait_for_all(.param .u64 p) {
.reg .b32 %r<2>;
.loc 1 3 5
mov.u32 %r1, %tid.x;
.loc 1 4 9
bar.sync 1, 96;
ret;
}
.file 1 "count.cu"
END
check "$folder/count.ptx" --block 64 --arg p=unknown | sed "s|$folder/||"
printf 'one\ntwo\n  three\n\tsync_some(96); // of 64\n' >"$folder/count.cu"
check "$folder/count.ptx" --block 64 --arg p=unknown | sed "s|$folder/||" | head -4
# Of two kernels that only template arguments tell apart, both are named with them.
printf '.version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry _Z1kIfEvv() {\nret;\n}\n.visible .entry _Z1kILi4EEvv() {\nret;\n}\n' >"$folder/two.ptx"
spad cuda list "$folder/two.ptx" | grep '^k'
spad cuda check "$folder/two.ptx" --kernel 'k<4>' --block 32 2>&1 | grep kernel | sed "s|$folder/||"
