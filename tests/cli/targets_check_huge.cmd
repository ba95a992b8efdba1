head -c 67108865 /dev/zero | spad targets check -
