SPAD_PYTHON=/nowhere/python3 spad tilelang check a.py:k
