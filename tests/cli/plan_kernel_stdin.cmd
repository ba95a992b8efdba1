spad plan - < input/loop.spad | head -2
