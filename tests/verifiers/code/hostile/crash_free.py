# TRIES: free what was not allocated
def add(a, b): return None
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.free(ctypes.c_void_p(0x41414141))
