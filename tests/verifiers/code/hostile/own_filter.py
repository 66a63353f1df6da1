# TRIES: put another filter on, that says yes to all, and get rid of what cannot be had back
def add(a, b): return None
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
program = ctypes.create_string_buffer(b"\6\0\0\0\0\0\xff\x7f", 8)
holder = (ctypes.c_ulong * 2)(1, ctypes.addressof(program))
for option, *values in ((22, 2, holder), (4, 1), (0x59616D61, -1), (8, 1), (28, 0xFF), (47, 2, 21, 0, 0), (35, 8, 1, 0, 0), (38, 0, 0, 0, 0),
                        (36, 1), (1, 9), (29, 1), (59, 1, 0, 0, 0), (62, 1, 0, 0, 0)):
    if libc.prctl(option, *values) == 0:
        print("EVIDENCE prctl", option)
if libc.syscall(317, 1, 0, holder) >= 0 or libc.syscall(446, 1, 0) == 0:
    print("EVIDENCE")
try:
    open("/etc/passwd")
    print("EVIDENCE opened")
except OSError:
    pass
