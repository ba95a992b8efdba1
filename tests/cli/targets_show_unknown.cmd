spad targets show trn9
