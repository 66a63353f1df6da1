# TRIES: a storm of timers
def add(a, b): return None
import ctypes, signal
libc = ctypes.CDLL(None)
made = 0
event = ctypes.create_string_buffer(64)
timer = ctypes.c_long()
while made < 100000 and libc.syscall(222, 1, None, ctypes.byref(timer)) == 0:
    made += 1
if made > 5000:
    print("EVIDENCE", made)
signal.signal(signal.SIGALRM, lambda *a: None)
signal.setitimer(signal.ITIMER_REAL, 1e-6, 1e-6)
while True:
    pass
