spad check input/shallow.spad --svg picture.svg >/dev/null; cat picture.svg; rm picture.svg
