spad check input/missing.spad input/loop.spad | cut -d: -f1
