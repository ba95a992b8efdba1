# names that would act on a terminal, or are not UTF-8, are shown with '?'
printf 'id,lower,upper,size,offset\n\033[31mred,0,5,10,0\nb\377\342\200\256,0,5,10,5\nc\302\233,9,10,1,\n' >"$work/clash.csv"
cd "$work"
spad plan clash.csv 2>&1 | grep why
spad diff clash.csv clash.csv
sed 's/,5$/,/' clash.csv | spad plan - --capacity 12 2>&1 | grep -v '^time'
sed 's/,5$/,/' clash.csv | spad plan - --text | tail -4
sed 's/^id/\x1bid/' clash.csv | spad plan -
spad plan $'\033[31m\n.csv'
spad plan --json clash.csv | grep '"name"'
spad diff --json clash.csv clash.csv 2>/dev/null
printf 'kernel k on trn2\ntensor \033x : sbuf bf16 (128, 8)\nfoo\342\200\256' | spad check -
printf 'target "a\033b\\"c"\nfamily host\nspace "m\302\233" {\nlanes 1\nbytes 64\n}\n' >chip.target
spad targets check chip.target
printf 'target t "a\342\200\256b\302\233"\nfamily host\n' | spad targets show -
