spad sim ../../examples/kernels/wrong/40_race.spad
