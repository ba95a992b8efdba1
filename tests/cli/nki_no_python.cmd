SPAD_PYTHON=/nowhere/python3 spad nki check a.py:k
