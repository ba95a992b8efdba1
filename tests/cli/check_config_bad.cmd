d=$(mktemp -d); printf 'kernel k on sm_90\n' > $d/k.spad; for line in 'colour = "red"' '[rules]
SPAD-NONE = "ignore"' '[rules]
SPAD-RACE = "loud"' 'nothing' 'compiler-faults = "maybe"' 'baseline = "absent"'; do printf '%s\n' "$line" > $d/.spad.toml; spad check $d/k.spad 2>&1 | sed "s|$d|DIR|g"; done; rm -r $d
