spad check input/weights.spad --fix --json
