spad plan input/deep.spad
