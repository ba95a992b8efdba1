spad sim
