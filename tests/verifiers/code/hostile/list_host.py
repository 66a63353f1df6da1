# TRIES: list the folders of the host
def add(a, b): return None
import os
for folder in ("/etc", "/root", "/home", "/proc", "/sys", "/var", "/tmp/attack-lab", "/dev/shm", "/run", "/old", "/work"):
    try:
        if os.listdir(folder):
            print("EVIDENCE", folder)
    except OSError as error:
        print(error)
for path in ("/etc/shadow", "/etc/hostname", "/root/.bashrc", "/proc/version", "/proc/self/status", "/proc/net/tcp", "/sys/kernel/notes"):
    try:
        open(path, "rb")
        print("EVIDENCE", path)
    except OSError as error:
        print(error)
