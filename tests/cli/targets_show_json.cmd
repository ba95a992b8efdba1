spad targets show sm_100a --json
