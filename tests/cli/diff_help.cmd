spad diff --help
