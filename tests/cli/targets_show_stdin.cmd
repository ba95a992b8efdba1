spad targets show - <input/good.chip
