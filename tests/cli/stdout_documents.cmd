# A document on stdout stands there alone; what else a command says goes to stderr.
kernel=../../examples/kernels/08_gemm_sm90.spad
is_json() { python3 -m json.tool >/dev/null && echo "$1: JSON"; }
starts() { head -c "${#2}" "$work/page" | grep -qxF "$2" && echo "$1: $2"; }
for kind in trace data; do
    spad plan ../../examples/buffers.csv --$kind - 2>"$work/said" | is_json "plan csv --$kind"
    test -s "$work/said" || echo "the summary is lost"
    spad plan $kernel --$kind - 2>/dev/null | is_json "plan --$kind"
    spad check $kernel --$kind - 2>/dev/null | is_json "check --$kind"
    spad sim $kernel --$kind - 2>/dev/null | is_json "sim --$kind"
    spad replay input/memory_log.csv --$kind - 2>/dev/null | is_json "replay --$kind"
done
for command in plan check sim; do
    spad $command $kernel --svg - >"$work/page" 2>/dev/null
    starts "$command --svg" '<svg'
done
spad plan $kernel --report - >"$work/page" 2>/dev/null
starts 'plan --report' '<!DOCTYPE html>'
spad diff ../../examples/buffers.csv ../../examples/buffers.csv --report - >"$work/page" 2>/dev/null
starts 'diff --report' '<!DOCTYPE html>'
spad plan $kernel -o - --trace -
