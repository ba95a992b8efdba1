spad targets show trn1 trn2
