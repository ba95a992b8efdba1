spad plan input/spaces.csv --space =3
