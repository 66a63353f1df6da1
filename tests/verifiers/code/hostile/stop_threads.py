# TRIES: stop oneself by every signal that stops
def add(a, b): return None
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
import os
for number in (19, 20, 21, 22):
    libc.syscall(234, os.getpid(), libc.syscall(186), number)
    libc.kill(os.getpid(), number)
