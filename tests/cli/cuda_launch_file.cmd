# Launch files: as the input, after --launch, with options of the command line that win, and with faults.
files=input/launches
try() { spad "$@" || echo "exit $?"; }
try cuda check $files/ring.toml --no-advice 
try cuda check ../ptx/copies.ptx --launch $files/ring.toml --no-advice --kernel ring_sum_early | tail -1
try check $files/sums.toml
sed 's/"01000000"/"........"/' $files/sums.toml >"$work/unknown.toml"
try check ../ptx/reduce.ptx --launch "$work/unknown.toml" | tail -1
try plan $files/ring.toml | head -3
try sim $files/ring.toml | head -1
try cuda list $files/sums.toml | head -2
try cuda check $files/sums.toml --kernel sums
try cuda check $files/ring.toml --arg in=unknown
sed 's/copies.ptx/gone.ptx/' $files/ring.toml >"$work/gone.toml"
cd "$work" && try check gone.toml
printf 'version = 1\ngrid = 0\nmodule = 4\n[[memory]]\naddress = 16\nbytes = 2\ncontents = "0102zz"\n' >faults.toml
try check faults.toml
try cuda list faults.toml 2>/dev/null
try check --json faults.toml 2>/dev/null | grep message
