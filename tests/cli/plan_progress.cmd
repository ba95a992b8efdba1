# not on a terminal: whole lines, nothing is written over
awk 'BEGIN { print "lower,upper,size,offset"; for (i = 0; i < 80; i++) print i * 37 % 50 "," i * 37 % 50 + 1 + i * 17 % 23 "," 100 + i * 7919 % 900 "," (i == 0 ? 555 : -1) }' |
    spad plan - --timeout 0.3 --progress >"$work/summary" 2>"$work/lines"
grep -c '^verdict' "$work/summary"
sed 's/[0-9][0-9.]*/N/g' "$work/lines" | sort -u | tr '\r' '!'
