for n in 9223372036854775807 0 -1; do spad plan input/loop.spad -D N=$n; done; spad plan input/loop.spad -D N=9223372036854775808
