spad targets show missing.chip
