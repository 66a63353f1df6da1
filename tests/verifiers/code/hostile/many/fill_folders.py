# TRIES: more files, names, bytes and attributes than it may have
import os
def add(a, b): return None
made, written = 0, 0
for folder in ("/tmp", "/dev/shm"):
    try:
        for n in range(10**6):
            os.mkdir(f"{folder}/{n}")
            made += 1
    except OSError:
        pass
    for n in range(made):
        try:
            os.rmdir(f"{folder}/{n}")
        except OSError:
            pass
    try:
        with open(f"{folder}/sparse", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 1 << 20)
            for n in range(1 << 12):
                written += os.pwrite(file.fileno(), bytes(1 << 20), n << 20)
    except OSError:
        pass
for number in range(100):
    try:
        fd = os.memfd_create("x")
        for _ in range(64):
            written += os.write(fd, bytes(1 << 20))
    except OSError:
        pass
if made > 10000 or written > 1 << 30:
    print("EVIDENCE", made, written)
