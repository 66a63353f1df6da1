# TRIES: run programs of the host
def add(a, b): return None
import os, subprocess
for run in (lambda: os.execv("/usr/bin/id", ["id"]), lambda: subprocess.run(["/usr/bin/id"]),
            lambda: os.posix_spawn("/usr/bin/id", ["id"], {}), lambda: os.system("/usr/bin/id > /dev/null") == 0):
    try:
        if run() not in (False, None):
            print("EVIDENCE ran")
    except OSError as error:
        print(error)
