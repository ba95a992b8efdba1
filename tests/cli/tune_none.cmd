spad tune a.spad b.spad
