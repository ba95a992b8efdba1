spad check input/overwritten.spad input/loop.spad --json | grep -e "\"kernel\"" -e "\"code\"" -e "\"verdict\"" -e "^[][]"
