spad targets --help
