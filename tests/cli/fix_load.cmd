spad check input/weights.spad --fix -o "$work/better.spad" 2>/dev/null
cat "$work/better.spad"
spad check "$work/better.spad"
