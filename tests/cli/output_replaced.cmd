# an output takes its name when it is complete; else the old file stays, and nothing beside it
mkdir "$work/in"
cp input/exp_rows.spad input/plan.csv "$work/in"
cd "$work/in"
spad() { "$SPAD" "$@" >/dev/null; }
mkdir there
echo old >there/old
chmod 604 there/old
ln -s there/old link
ln -s there/new dangling
umask 027
spad plan exp_rows.spad --svg link --data dangling --report page
stat -c '%N %a' link there/* dangling page
head -c 5 link
echo
echo "full disk:"
for options in 'plan exp_rows.spad --report' 'check exp_rows.spad --sarif' 'emit exp_rows.spad -o' \
    'plan exp_rows.spad --data' 'plan exp_rows.spad --trace' \
    'tune exp_rows.spad -o' 'plan exp_rows.spad -o' 'plan plan.csv -o' 'diff plan.csv plan.csv --report'; do
    echo old >there/old
    (ulimit -f 0 && spad $options there/old) 2>&1 | cat
    echo "${PIPESTATUS[0]} $(cat there/old)"
done
(ulimit -f 0 && spad plan exp_rows.spad --report there/none) 2>&1 | cat
echo "no regular files:"
mkfifo pipe
spad plan exp_rows.spad --svg pipe &
cat pipe >got
wait
[ -p pipe ] && head -c 5 got && echo " in a pipe"
"$SPAD" emit exp_rows.spad -o /dev/stdout >whole.h && "$SPAD" emit exp_rows.spad | cmp - whole.h
"$SPAD" plan exp_rows.spad --svg /dev/stderr 2>both >/dev/null && tail -n 1 both
spad plan exp_rows.spad --svg /dev/full
ls -A . there
