spad targets check
