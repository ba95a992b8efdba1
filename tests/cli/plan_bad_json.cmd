spad plan input/bad.spad --json 2>/dev/null
