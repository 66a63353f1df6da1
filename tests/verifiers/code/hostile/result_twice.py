# TRIES: write the result and return another
import os
def add(a, b):
    os.write(3, b"l\0\0\0\2i\0\0\0\1\3N")
    return a + b
