spad targets show
