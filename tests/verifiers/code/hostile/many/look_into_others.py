# TRIES: trace, read and take files of the process that started it, and of its own children
import ctypes, os
def add(a, b): return None
libc = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(64)
vector = (ctypes.c_ulong * 2)(ctypes.addressof(buffer), 64)
child = os.fork()
if child == 0:
    libc.pause()
for pid in {1, os.getppid(), child} - {0, os.getpid()}:
    for number, *args in ((101, 16, pid, 0, 0), (101, 0x4206, pid, 0, 0), (310, pid, vector, 1, vector, 1, 0), (311, pid, vector, 1, vector, 1, 0),
                          (312, os.getpid(), pid, 0, 0, 0), (302, pid, 7, None, buffer)):
        if libc.syscall(number, *args) >= 0:
            print("EVIDENCE", number, pid)
    handle = libc.syscall(434, pid, 0)
    if handle >= 0:
        for fd in range(8):
            if libc.syscall(438, handle, fd, 0) >= 0:
                print("EVIDENCE took", fd)
        if libc.syscall(308, handle, 0x20000000) == 0 or libc.syscall(440, handle, vector, 1, 4, 0) >= 0:
            print("EVIDENCE")
os.kill(child, 9)
