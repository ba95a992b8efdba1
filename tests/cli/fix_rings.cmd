spad check input/staged.spad --fix -o "$work/better.spad" 2>/dev/null
spad plan "$work/better.spad" | head -3
spad check input/queue.spad --fix
spad check input/queue.spad --fix --steps
