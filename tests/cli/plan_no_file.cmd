spad plan
