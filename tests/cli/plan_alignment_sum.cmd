printf 'id,lower,upper,size,alignment\na,0,5,10,9223372036854775807\nb,0,5,10,9223372036854775807\n' | spad plan -
