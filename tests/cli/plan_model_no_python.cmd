SPAD_PYTHON=/nowhere/python3 spad plan a.tflite
