spad targets shwo trn2
