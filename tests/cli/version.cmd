spad --version
