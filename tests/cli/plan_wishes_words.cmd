spad plan input/wishes.csv --count-moves
