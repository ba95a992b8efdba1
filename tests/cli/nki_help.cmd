spad nki --help
