spad check input/shallow.spad --json --text
