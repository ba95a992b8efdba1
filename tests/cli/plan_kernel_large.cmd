spad plan input/loop.spad -D N=1000000000 | grep -v "^loop"
