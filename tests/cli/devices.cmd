spad devices | grep '^host' | tr -s ' '
