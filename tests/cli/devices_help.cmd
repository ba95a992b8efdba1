spad devices --help
