# TRIES: find files that other runs left, and leave some; write where the interpreter looks
import os, sys
def add(a, b): return None
for folder in ("/tmp", "/dev/shm", "/keep"):
    try:
        for name in os.listdir(folder):
            if name not in ("attack-lab",) and os.path.isfile(f"{folder}/{name}"):
                print("EVIDENCE", folder, name)
        open(f"{folder}/lab_{os.getpid()}", "w").write("x")
    except OSError as error:
        print(error)
for folder in [*sys.path, "/", "/dev", "/usr", "/lib", "/etc", os.path.dirname(sys.executable)]:
    try:
        open(f"{folder}/lab_file", "w")
        print("EVIDENCE", folder)
    except OSError:
        pass
