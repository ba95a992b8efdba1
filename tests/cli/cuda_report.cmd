# A page of a launch, right and wrong; the page itself is compared in report tests.
page() { spad cuda report "$@" -o "$work/page.html" 2>/dev/null; echo "exit $?, $(grep -qs sums "$work/page.html" && echo page || echo none)"; rm -f "$work/page.html"; }
page ../ptx/reduce.ptx --kernel sums --block 128 --arg in='f32[8,128]' --arg out='f32[8]' --arg rows=8
page ../ptx/reduce.ptx --kernel sums_reused --block 128 --arg in='f32[8,128]' --arg out='f32[8]' --arg rows=8
page input/launches/sums.toml
page ../ptx/reduce.ptx --kernel none
spad cuda report input/launches/sums.toml || echo "exit $?"
spad cuda report -o x.html || echo "exit $?"
spad cuda report input/launches/sums.toml -o x.html --timeout no || echo "exit $?"
