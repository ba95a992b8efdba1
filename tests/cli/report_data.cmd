spad check input/shallow.spad --data picture.json >/dev/null; cat picture.json; rm picture.json
