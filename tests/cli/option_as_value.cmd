cd "$work"
cp "$OLDPWD/input/exp_rows.spad" k.spad
spad check k.spad --sarif --data
echo $?
spad plan k.spad -o --json
spad plan k.spad -D --json
spad check k.spad --sarif=--data >/dev/null && spad plan k.spad --svg ./--svg >/dev/null
ls
