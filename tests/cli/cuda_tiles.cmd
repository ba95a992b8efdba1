# Tiles of two warps: their barrier word orders them, also the relaxed write that passes a release on.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
check() { spad cuda check $1 --no-advice --block 128 --arg out='i32[128]' --kernel $2 2>&1 | grep -v '^ \|executed\|loops' | sed "s|$folder/||g"; }
for kernel in reverse reverse_unsynced reverse_across tile_sum; do check ../ptx/tiles.ptx $kernel; done
# That word is the system's: a block has all of its 227 KiB besides, also in a cluster.
spad cuda check ../ptx/tiles.ptx --no-advice --grid 2 --cluster 2 --block 128 --smem 231936 --arg out='i32[128]' --kernel reverse 2>/dev/null
spad cuda plan ../ptx/tiles.ptx --block 128 --smem 231936 --arg out='i32[128]' --kernel reverse 2>/dev/null | grep '^shared'
# Without the release of the atomic that arrives, nothing is passed on.
sed 's/atom.or.acq_rel/atom.or.relaxed/' ../ptx/tiles.ptx >"$folder/relaxed.ptx"
check "$folder/relaxed.ptx" reverse
# A race inside of the toolkit's headers is at the line that calls them.
spad cuda check "$folder/relaxed.ptx" --no-advice --block 128 --arg out='i32[128]' --kernel tile_sum 2>/dev/null | sed "s|$folder/||g" | head -4
