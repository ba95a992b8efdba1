spad fit input/deep.spad --json | sed "/\"layout\"/,/\"changes\"/d"
