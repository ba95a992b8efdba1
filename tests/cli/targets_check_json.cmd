spad targets check --json input/good.chip input/bad.chip
