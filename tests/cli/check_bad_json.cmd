spad check input/bad.spad input/loop.spad --no-advice --json 2>/dev/null
