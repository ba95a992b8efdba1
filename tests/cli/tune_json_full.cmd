printf 'kernel k on trn2\ntensor t : sbuf u8 [2] (128, 150000) ring 1\ntensor u : sbuf u8 [2] (128, 150000) ring 1\nfor i in 0..2 { dma load writes t[i], u[i] }\n' | spad tune --json - | tail -3
