# Lanes of one warp: with __syncwarp, and without it in a warp that has diverged and in one that runs in step.
for kernel in first first_unsynced half half_unsynced shifted shifted_in_step; do
    spad cuda check ../ptx/lanes.ptx --block 32 --arg in='i32[32]' --arg out='i32[32]' --kernel $kernel 2>&1 | grep -v 'executed' || true
done
# One lane that arrives for its warp: after __syncwarp, without it where half of the warp has data, and without it in step.
for kernel in handed filled_unsynced used_unsynced filled_in_step; do
    spad cuda check ../ptx/lanes.ptx --block 64 --arg in='i32[3,32]' --arg out='i32[3,32]' --arg steps=3 --no-advice --kernel $kernel 2>&1 |
        grep -v 'executed' || true
done
# The same where a bulk copy overwrites what the warp has read.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
awk '/entry/ { on = /bulk_ring/ } !on || !/bar.warp.sync/' ../ptx/mutants.ptx >"$folder/mutants.ptx"
for file in ../ptx/mutants.ptx "$folder/mutants.ptx"; do
    spad cuda check "$file" --kernel bulk_ring --block 96 --arg in='i32[8,64]' --arg out='i32[64]' --arg tiles=8 --no-advice 2>&1 >/dev/null |
        sed "s|$folder/||" | grep note
done
exit 0
