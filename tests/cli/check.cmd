spad check input/loop.spad | cut -d: -f1,2
