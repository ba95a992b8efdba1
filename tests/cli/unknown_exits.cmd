spad plan --timeout 0.1 input/unknown.spad --json | grep '"verdict": "unknown"'
spad plan --timeout 0.1 input/unknown.spad >/dev/null
