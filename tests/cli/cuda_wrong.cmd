# Wrong words about a launch.
export NVCC=/no/nvcc
file=../ptx/reduce.ptx
try() { spad cuda "$@" || echo "exit $?"; }
try
try lists $file
try list
try list input/loop.spad
try list missing.ptx
try check $file
try check $file --kernel 'none*'
try check $file --kernel 'sums_*' --block 128
try check $file --kernel sums --block 2048
try check $file --kernel sums --block 1,x
try check $file --kernel sums --block 128
try check $file --kernel sums --block 128 --arg 4096
try check $file --kernel sums --block 128 --arg in=f99[8]
try check $file --kernel sums --block 128 --arg in='f32[8'
try check $file --kernel sums --block 128 --arg in='f32[0]'
try check $file --kernel sums --block 128 --arg 2=1.5
try check $file --kernel sums --block 128 --arg 2=99999999999
try check $file --kernel sums --block 128 --arg 7=1
try check $file --kernel sums --block 128 --arg in=unknown --arg out=unknown --arg rows=1 --arg more=1
try check $file --kernel sums --block 128 --grid 3 --cluster 2 --arg in=unknown --arg out=unknown --arg rows=1
try check $file --kernel sums --block 128 --cta 5 --arg in=unknown --arg out=unknown --arg rows=1
try check ../ptx/reduce.cu --kernel sums --block 128
printf '.version 9.0\n.target sm_80\n.address_size 64\n.entry k() { bra away; }\n' >"$work/bad.ptx"
cd "$work" && try check bad.ptx
printf '.version 9.0\n.target sm_80\n.address_size 64\n.entry k() { .reg .b64 %%d; mov.u64 %%d, 0; L: add.s64 %%d, %%d, 1; bra L; }\n' >endless.ptx
spad cuda check endless.ptx --block 32 --timeout 0.1 2>&1 | sed 's/[0-9]* instructions/N instructions/'
