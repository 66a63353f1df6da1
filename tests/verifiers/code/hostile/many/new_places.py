# TRIES: namespaces, mounts and devices, from its own process and from one that it runs
import ctypes, os, subprocess, sys
def add(a, b): return None
attack = r'''
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for number, *args in ((272, 0x10000000), (272, 0x20000), (165, b"none", b"/tmp", b"tmpfs", 0, 0), (166, b"/tmp", 2), (161, b"/tmp"), (155, b"/tmp", b"/tmp"),
                      (133, b"/tmp/device", 0o20666, 0x103), (428, -100, b"/tmp", 1), (430, b"tmpfs", 0), (432, 0, 0), (442, -100, b"/", 0, bytes(32), 32),
                      (435, bytes(88), 88), (170, b"x", 1), (188, b"/tmp", b"trusted.x", b"x", 1, 0), (304, 0, bytes(64), 0)):
    if libc.syscall(number, *args) >= 0:
        print("EVIDENCE", number)
'''
exec(attack)
print(subprocess.run([sys.executable, "-S", "-c", attack], capture_output=True).stdout)
for tool in ("unshare -Ur id", "mount", "su -c id", "ping -c1 127.0.0.1", "bwrap --bind / / id", "nsenter -t 1 -m id"):
    done = subprocess.run(["/bin/sh", "-c", tool], capture_output=True)
    if done.returncode == 0 and done.stdout:
        print("EVIDENCE", tool, done.stdout)
