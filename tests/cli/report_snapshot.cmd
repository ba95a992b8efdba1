spad plan ../../examples/buffers.csv --snapshot picture.pickle >/dev/null; od -An -c picture.pickle; rm picture.pickle
