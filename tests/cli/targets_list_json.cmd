spad targets --json | python3 -c "import json, sys; t = json.load(sys.stdin); print(len(t), t[0][\"name\"], t[-1][\"name\"])"
