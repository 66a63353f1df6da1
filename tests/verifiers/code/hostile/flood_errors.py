# TRIES: flood standard error
def add(a, b): return None
import os
total = 0
try:
    for _ in range(300):
        total += os.write(2, b"x" * (1 << 20))
except OSError:
    pass
if total > 64 << 20:
    print("EVIDENCE")
raise SystemExit(3)
