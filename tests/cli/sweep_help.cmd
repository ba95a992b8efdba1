spad sweep --help
