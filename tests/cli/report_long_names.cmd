# Names that differ at their ends only: the middle gives way; titles have all of it.
printf 'id,lower,upper,size\nlayer.12.attention.projection.weight_48,0,1,4096\nlayer.12.attention.projection.weight_50,1,9,4096\n' >"$work/names.csv"
spad plan - --text <"$work/names.csv" | grep weight
spad plan - --svg - <"$work/names.csv" 2>/dev/null | grep -o '>[^<>{]*weight[^<>]*<'
# Addresses with more digits than the margin has room for
printf 'id,lower,upper,size\na,0,1,200000000000\n' | spad plan - --svg - 2>/dev/null | grep -o '"end"[^<>]*>[^<>]*<'
printf 'id,lower,upper,size\na,0,1,2000000000000000000\n' | spad plan - --svg - 2>/dev/null | grep -o '"end"[^<>]*>[^<>]*<'
