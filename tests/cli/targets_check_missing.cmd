spad targets check missing.chip input/good.chip
