printf 'kernel k on trn2\nparam N = 2000000\ntensor x : hbm u8 [N] (1)\nfor i in 0..N { dma op writes x[i * 7 %% N] }\n' | spad sim -
