spad check input/carry.spad
sed "s/t \* 3/t * N/g" input/carry.spad | spad check -
