# TRIES: an encoding whose lengths go past its end
import os
def add(a, b):
    os.write(3, b"l\xff\xff\xff\xff" + b"N" * 100)
    os._exit(0)
