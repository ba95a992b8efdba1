printf 'id,lower,upper,size\na\0b,0,5,10\n' | spad plan -
