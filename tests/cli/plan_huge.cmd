cd "$work" && truncate -s 1073741825 huge.csv && spad plan huge.csv
