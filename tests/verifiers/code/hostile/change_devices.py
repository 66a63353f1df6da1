# TRIES: change the times and modes of devices
def add(a, b): return None
import os
for path in ("/dev/null", "/dev/zero", "/dev/urandom"):
    for change in (lambda: os.utime(path), lambda: os.chmod(path, 0o600), lambda: os.unlink(path), lambda: os.truncate(path, 0) or 1 / 0):
        try:
            change()
            print("EVIDENCE", path)
        except (OSError, ZeroDivisionError) as error:
            print(error)
for path in ("/dev/mem", "/dev/kmsg", "/dev/tty", "/dev/ptmx", "/dev/vda", "/dev/fuse", "/dev/kvm"):
    try:
        open(path, "rb")
        print("EVIDENCE", path)
    except OSError as error:
        print(error)
