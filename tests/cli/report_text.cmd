spad check input/shallow.spad --text | tail -n +11
