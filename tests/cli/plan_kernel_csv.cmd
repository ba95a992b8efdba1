spad plan input/loop.spad -o - 2>/dev/null
