spad check input/configured/k.spad
