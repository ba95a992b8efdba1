spad plan input/loop.spad | sed "s/[0-9.]* %/N %/g; s/[0-9.]* us/N us/"
