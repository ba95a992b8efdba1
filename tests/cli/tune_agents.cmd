spad plan input/staged.spad | head -5
spad tune --steps input/staged.spad
spad fit input/staged.spad -D S=5 | tail -6
spad plan input/staged.spad -D S=5 | head -3
