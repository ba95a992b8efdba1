spad fit input/deep.spad input/loop.spad
