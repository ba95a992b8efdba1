spad targets show input/bad.chip
