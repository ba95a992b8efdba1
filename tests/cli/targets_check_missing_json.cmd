spad targets check --json missing.chip
