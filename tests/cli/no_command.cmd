spad
