spad devices --json | head -10
