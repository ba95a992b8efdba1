spad check input/overwritten.spad --no-advice | sed -n "s/: error:.*\[/: error: [/p; /|/p"
