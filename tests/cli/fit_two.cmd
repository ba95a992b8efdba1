spad fit input/deep.spad input/deep.spad --target sm_90 -D S=3
