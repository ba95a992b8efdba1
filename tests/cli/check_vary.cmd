spad check input/literal.spad --vary R | sed "/|/d; s/: bytes .*//; s/ (note|warning): .*//"
spad check input/literal.spad --one-shape --vary R,KB --json | grep reason
spad check input/literal.spad --vary Q
spad check input/literal.spad --vary R,,KB
