spad targets check -- --json
