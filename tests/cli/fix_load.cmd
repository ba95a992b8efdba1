spad check input/weights.spad --fix -o "$work/better.spad"
cat "$work/better.spad"
spad check "$work/better.spad"
