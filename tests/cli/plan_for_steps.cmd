spad plan input/plain.spad --for time; spad plan input/plain.spad --for time --steps | sed -n 2,3p
