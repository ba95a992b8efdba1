spad --vershun
