spad plan input/loop.spad -D M=3; spad plan input/loop.spad -D N; spad plan input/loop.spad -D N=x; spad plan input/loop.spad --ring z=2
