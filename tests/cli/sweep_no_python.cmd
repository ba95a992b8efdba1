SPAD_PYTHON=/nowhere/python3 spad sweep a.spad --vary S=1..2
