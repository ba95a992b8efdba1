cd "$work"
spad check "$OLDPWD/input/deep.spad" --fix -o better.spad; echo "exit $?"
ls better.spad 2>/dev/null || echo "not written"
