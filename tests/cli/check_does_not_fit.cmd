spad check input/deep.spad --no-advice
