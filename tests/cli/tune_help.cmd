spad tune --help
