spad --help
