# TRIES: have the interpreter's C code write signal numbers into the result and the output
def add(a, b): return a * b
import signal
for number in (signal.SIGALRM, signal.SIGUSR1, signal.SIGPROF):
    signal.signal(number, lambda *a: None)
for fd in (3, 1):
    try:
        signal.set_wakeup_fd(fd, warn_on_full_buffer=False)
        signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
        signal.setitimer(signal.ITIMER_PROF, 1e-4, 1e-4)
        sum(range(10**5))
    except (OSError, ValueError) as error:
        print(error)
