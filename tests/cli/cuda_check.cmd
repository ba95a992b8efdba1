# Sums by shared memory: right, with a buffer that is reused too early, with a barrier that a warp never reaches,
# beyond the end, and with a branch that data decides.
check() { spad cuda check ../ptx/reduce.ptx --block 128 --kernel "$@" || echo "exit $?"; }
check sums --grid 2 --arg in='f32[8,128]' --arg out='f32[8]' --arg rows=8
check sums_reused --grid 2 --arg in='f32[8,128]' --arg out='f32[8]' --arg rows=8
check sums_stuck --arg in='f32[128]' --arg out='f32[128]'
check sums_beyond --smem 512 --arg in='f32[128]' --arg out='f32[128]'
check sums_some --arg in='f32[128]' --arg wanted='i32[1]' --arg out='f32[128]'
check sums_some --arg in='f32[128]' --arg wanted='i32[1]=1' --arg out='f32[128]'
# Errors of the execution itself: what is proved does not say that they are harmless.
check sums --grid 2 --arg in='f32[1,128]' --arg out='f32[8]' --arg rows=8
