spad fit input/deep.spad input/deep.spad -D S=3 --json
