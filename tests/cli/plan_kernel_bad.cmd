spad plan input/bad.spad
