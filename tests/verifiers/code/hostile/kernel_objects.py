# TRIES: System V and POSIX shared memory, semaphores, queues, keys
def add(a, b): return None
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for number, *args in ((29, 0x1AB, 4096, 0o1666), (64, 0x1AB, 1, 0o1666), (68, 0x1AB, 0o1666), (240, b"lab", 0o102, 0o666, 0),
                      (248, b"user", b"lab", b"x", 1, -3), (250, 0, -3, 1), (249, b"user", b"lab", 0, -3)):
    if libc.syscall(number, *args) >= 0:
        print("EVIDENCE", number)
