# TRIES: look like a jail that failed
def add(a, b): return None
import os
os.write(2, b"the jail could not be closed: x\n")
os._exit(113)
