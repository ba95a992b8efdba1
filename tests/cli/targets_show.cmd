spad targets show trn2
