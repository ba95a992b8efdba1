spad check input/deep.spad --no-advice | cut -d: -f1
