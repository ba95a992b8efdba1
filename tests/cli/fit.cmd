spad fit input/loop.spad
