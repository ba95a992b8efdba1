spad fit input/deep.spad
