# TRIES: run out of C stack
def add(a, b): return None
import sys
sys.setrecursionlimit(10**9)
class Deep:
    def __repr__(self): return repr([self])
print(repr(Deep()))
