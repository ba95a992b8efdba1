spad check input/bad.spad
