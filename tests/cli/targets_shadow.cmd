cd "$work"
printf 'target H100 "with a little less"\nspace shared { bytes 200 KiB }\n' > h100.chip
spad targets h100.chip | head -1
printf 'target mine\nspace shared { bytes 200 KiB }\n' | tee mine.chip > H100
spad targets H100 | head -1
spad targets ./H100 | head -1
spad targets mine.chip | head -1
