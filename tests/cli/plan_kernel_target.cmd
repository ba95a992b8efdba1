spad plan input/deep.spad --target sm_80 | sed -n 2,3p
