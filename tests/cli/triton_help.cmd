spad triton --help
