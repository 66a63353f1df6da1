# TRIES: damage the interpreter itself
def add(a, b): return None
import ctypes, sys
frame = sys._getframe()
ctypes.memset(id(frame), 0x41, 64)
del frame
print(sys._getframe().f_back)
