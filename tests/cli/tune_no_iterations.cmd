printf 'kernel k on trn2\nparam N = 8\nfor i in 1..N {\ntensor t : sbuf bf16 (128, 512)\ndma load writes t\nscalar exp reads t\n}\n' | spad tune - -o - 2>/dev/null | spad plan - -D N=1 2>&1 | head -3
