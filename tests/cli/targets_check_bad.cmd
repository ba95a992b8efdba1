spad targets check input/good.chip input/bad.chip
