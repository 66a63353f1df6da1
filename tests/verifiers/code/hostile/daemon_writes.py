# TRIES: threads that go on writing results and output while and after it ends
import os, threading
def flood():
    while True:
        for fd in (3, 1):
            try:
                os.pwrite(fd, b"l\0\0\0\2i\0\0\0\1\3N" * 50, 0)
            except OSError:
                pass
for _ in range(4):
    threading.Thread(target=flood, daemon=True).start()
def add(a, b): return None
