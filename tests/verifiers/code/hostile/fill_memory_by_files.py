# TRIES: memory that the address space does not count
def add(a, b): return None
import os, socket
total = 0
kept = []
def push(write):
    global total
    try:
        for _ in range(64):
            total += write(bytes(1 << 20))
    except OSError:
        pass
for _ in range(100):
    try:
        fd = os.memfd_create("x")
        push(lambda data: os.write(fd, data))
    except OSError:
        break
for fd in (1, 2, 3):
    for offset in (1 << 40, 1 << 30, 0):
        try:
            os.ftruncate(fd, offset + (1 << 30))
            print("EVIDENCE truncated")
        except OSError:
            pass
        try:
            os.posix_fallocate(fd, offset, 1 << 30)
            print("EVIDENCE allocated")
        except OSError:
            pass
if total > 64 << 20:
    print("EVIDENCE", total)
