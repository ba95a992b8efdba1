spad help targets | head -1
spad help plam
spad check - - <input/loop.spad | tail -1
spad tune input/loop.spad --depth 99999999999999999999
spad plan input/loop.spad -D N=99999999999999999999
spad check input/loop.spad --target nochip
spad check input
