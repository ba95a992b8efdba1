spad plan input/deep.spad > "$work/said"; echo $?; grep -v "^engines" "$work/said"
