spad targets show inf2 | head -3
