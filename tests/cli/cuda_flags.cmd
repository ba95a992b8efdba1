# Flags, locks and counts in shared memory: each is right, or one thing is missing of it.
check() { spad cuda check ../ptx/flags.ptx --no-advice --block 96 --arg in='i32[96]=1,2,3' --arg out='i32[96]' --kernel $1 2>&1 | grep -v '^ \|note:\|executed'; }
for kernel in flag flag_relaxed flag_not_awaited flag_volatile flag_unfenced; do spad cuda check ../ptx/flags.ptx --no-advice --block 64 --arg in='i32[64]' --arg out='i32[64]' --kernel $kernel 2>&1 | grep -v '^ \|executed'; done
for kernel in lock lock_missing last last_relaxed last_not_asked same_value other_value; do check $kernel; done
# cuda::pipeline: an atomic count orders the end of its mbarriers after all other uses.
for kernel in pipeline pipeline_early; do spad cuda check ../ptx/shared_pipeline.ptx --no-advice --block 128 --arg in='i32[6,128]' --arg out='i32[128]' --arg tiles=6 --kernel $kernel 2>&1 | grep -v '^ \|executed'; done
