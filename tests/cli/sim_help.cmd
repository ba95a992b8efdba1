spad sim --help
