spad check input/staged.spad --fix
spad check input/staged.spad --fix --steps -o "$work/better.spad"
spad plan "$work/better.spad" | head -3
