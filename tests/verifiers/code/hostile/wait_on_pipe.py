# TRIES: read from a pipe of its own
def add(a, b): return None
import os
r, w = os.pipe()
os.read(r, 1)
