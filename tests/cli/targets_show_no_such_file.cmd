cd input && spad targets show palin
