for t in $(spad targets | tail -n +2 | cut -d" " -f1); do spad targets show $t | spad targets check -; done
