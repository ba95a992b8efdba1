# Comments stay with the statement that they are above, or in the line of, also where it moves.
spad check input/commented.spad --fix -o "$work/better.spad" 2>/dev/null
cat "$work/better.spad"
spad check --no-advice "$work/better.spad" >/dev/null || echo "exit $?"
spad check - --fix -o - <input/commented.spad 2>/dev/null | cmp - "$work/better.spad"
# a changed kernel is as good as it gets, and a disk may be full
spad check "$work/better.spad" --fix -o "$work/again.spad" 2>/dev/null
cmp "$work/better.spad" "$work/again.spad"
if [ -w /dev/full ] && spad check input/commented.spad --fix -o /dev/full >/dev/null 2>&1; then echo "written"; fi
