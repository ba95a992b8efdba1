SPAD_PYTHON=/nowhere/python3 spad triton check a.py:k
