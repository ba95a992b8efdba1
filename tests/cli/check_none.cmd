spad check; spad check --json --sarif - input/loop.spad; spad check --sarif /nowhere/x input/loop.spad | cut -d: -f1
