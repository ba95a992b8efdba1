spad emit --help
