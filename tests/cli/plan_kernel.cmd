spad plan input/loop.spad | sed "s/[0-9.]* %/N %/g; s/busy in [0-9.]* us/busy in N us/"
