cd input && spad targets show plain
