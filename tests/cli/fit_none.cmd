spad fit
