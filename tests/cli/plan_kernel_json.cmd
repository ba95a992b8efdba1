spad plan input/deep.spad --json | sed "/\"check\"/,\$d"
