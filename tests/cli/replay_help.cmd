spad replay --help
