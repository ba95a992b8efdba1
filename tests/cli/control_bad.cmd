spad check input/control_bad.spad
