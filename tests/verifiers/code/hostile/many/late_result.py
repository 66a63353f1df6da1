# TRIES: write the result, and more output, from a process that outlives the first
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for _ in range(200):
            time.sleep(0.005)
            for fd in (3, 1):
                try:
                    os.pwrite(fd, b"3 EVIDENCE l\0\0\0\2i\0\0\0\1\3N", 0)
                except OSError:
                    pass
    os._exit(0)
def add(a, b):
    os._exit(0)
