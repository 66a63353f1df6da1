# TRIES: change limits, its own and others
def add(a, b): return None
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
import os, resource
one = (ctypes.c_ulong * 2)(1, 1)
if os.getppid() and libc.syscall(302, os.getppid(), 7, one, None) == 0:
    print("EVIDENCE")
for kind in range(16):
    soft, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        try:
            resource.setrlimit(kind, (hard, hard + 1))
            print("EVIDENCE", kind)
        except (OSError, ValueError) as error:
            print(error)
if resource.getrlimit(resource.RLIMIT_AS)[1] > 4 << 30 or resource.getrlimit(resource.RLIMIT_NOFILE)[1] > 1024:
    print("EVIDENCE limits")
