# killed at any moment, the file is the old one or the new one; between the naming of the new one
# and its move SIGKILL leaves a .spad-*.tmp, which is then the whole new file
cd "$work"
{ echo id,lower,upper,size; for i in $(seq 3000); do echo "b$i,$i,$((i + 3)),64"; done; } >b.csv
mkdir there
started=${EPOCHREALTIME/[.,]/}
spad plan b.csv --data there/new >/dev/null 2>&1
micros=$((${EPOCHREALTIME/[.,]/} - started))
sed 's/"nanoseconds": [0-9]*/"nanoseconds": 0/' there/new >whole
for part in 30 50 60 70 75 80 85 90 95; do
    echo old >there/new
    "$SPAD" plan b.csv --data there/new >/dev/null 2>&1 &
    sleep "$(printf '%d.%06d' $((micros * part / 100 / 1000000)) $((micros * part / 100 % 1000000)))"
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
    [ "$(head -c 4 there/new)" = old ] || sed 's/"nanoseconds": [0-9]*/"nanoseconds": 0/' there/new | cmp - whole
    for left in there/.spad-*.tmp; do
        [ -e "$left" ] || continue
        sed 's/"nanoseconds": [0-9]*/"nanoseconds": 0/' "$left" | cmp - whole
        rm "$left"
    done
    ls -A there
done 2>&1 | sort | uniq -c
