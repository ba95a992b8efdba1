spad plan input/loop.spad
