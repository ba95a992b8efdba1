spad targets
