# Lanes of one warp: with __syncwarp, without it in a warp that has diverged, and without it in step.
for kernel in first first_unsynced half half_unsynced shifted shifted_in_step; do
    spad cuda check ../ptx/lanes.ptx --block 32 --arg in='i32[32]' --arg out='i32[32]' --kernel $kernel 2>&1 | grep -v 'executed' || true
done
