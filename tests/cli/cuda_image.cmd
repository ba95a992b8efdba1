# PTX out of what nvcc made: fatbins that are plain, LZ4 and zstd, an object of two translation units, and machine code alone.
images=../../fuzz/corpus/ptx_image
try() { spad "$@" || echo "exit $?"; }
spad cuda list $images/plain.fatbin
spad cuda list $images/zstd.fatbin | head -1
spad cuda list $images/two.o | grep kernel
launch() { try cuda check "$@" --no-advice --block 64 --arg data='f32[64]' --arg by=2.5 2>/dev/null; }
launch $images/plain.fatbin
launch $images/plain.fatbin --arch sm_80
launch $images/lz4.fatbin
launch $images/two.o --kernel '*scale*'
try cuda check $images/plain.fatbin --arch sm_70
try cuda check $images/two.o
try cuda check $images/two.o --kernel '*blur*'
try check $images/code.fatbin
try cuda list $images/code.fatbin
try plan $images/cut.cubin
head -c 600 $images/lz4.fatbin >"$work/cut.fatbin"
cd "$work" && try check cut.fatbin
