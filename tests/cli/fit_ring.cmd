spad fit input/ring250.spad -D N=500
