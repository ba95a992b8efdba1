(echo target t; yes oops | head -50) | spad targets check - 2>&1 | tail -4
