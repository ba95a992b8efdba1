spad targets --json=yes
