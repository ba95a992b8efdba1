spad targets check input
