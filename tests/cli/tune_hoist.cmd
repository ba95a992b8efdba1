printf 'kernel k on trn2\nfor i in 0..8 {\ntensor t : sbuf bf16 (128, 512)\ndma load writes t\nscalar exp reads t\n}\n' | spad tune -
