spad plan input/loop.spad -D N=1000000000 | grep -v -e "^loop" -e "^engines"
