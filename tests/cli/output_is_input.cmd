cp input/exp_rows.spad "$work/k.spad"
cp input/plan.csv "$work/b.csv"
ln -s k.spad "$work/link.spad"
cd "$work"
spad plan k.spad -o k.spad >/dev/null
echo $?
spad plan k.spad --svg link.spad >/dev/null
spad plan k.spad --svg x.out --trace x.out >/dev/null
spad tune k.spad -o ./k.spad >/dev/null
spad emit k.spad -o k.spad
spad check k.spad --sarif k.spad >/dev/null
spad diff k.spad k.spad --report k.spad >/dev/null
spad plan b.csv -o b.csv >/dev/null
echo $?
cmp k.spad "$OLDPWD/input/exp_rows.spad" && cmp b.csv "$OLDPWD/input/plan.csv" && echo "all are as they were"
