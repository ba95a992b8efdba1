spad plan input/loop.spad -DN=4 --ring x=3 --define=N=5 | head -1
