spad replay
