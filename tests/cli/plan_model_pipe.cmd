printf '{"traceEvents": []}' | spad plan /dev/stdin; printf '{"traceEvents": []}' | spad plan -; spad plan input/plan.csv --max-file 1KiB
