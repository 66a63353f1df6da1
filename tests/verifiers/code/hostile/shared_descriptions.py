# TRIES: offsets, flags, locks and seals of files that the supervisor holds too
def add(a, b): return None
import fcntl, os
for fd in (0, 1, 2, 3):
    try:
        fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND | os.O_NONBLOCK | os.O_ASYNC | os.O_DIRECT)
    except OSError as error:
        pass
    for seal in (1033,):
        for which in (1, 2, 4, 8, 16, 31):
            try:
                fcntl.fcntl(fd, seal, which)
                os.write(1, b"EVIDENCE sealed")
            except OSError:
                pass
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.lseek(fd, 1 << 40, os.SEEK_SET)
        os.pwrite(fd, b"3", (1 << 22) - 2)
        os.lseek(fd, -1, os.SEEK_END)
    except OSError:
        pass
if os.pread(1, 4, 0) not in (b"", b"\0\0\0\0"):
    os.write(1, b"EVIDENCE of another run")
