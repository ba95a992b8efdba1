spad targets >/dev/full
