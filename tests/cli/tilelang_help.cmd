spad tilelang --help
