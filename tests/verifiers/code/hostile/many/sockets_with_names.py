# TRIES: meet other jobs and the host by sockets and pipes that have names
import os, socket
def add(a, b): return None
for family, name in ((socket.AF_UNIX, "/tmp/lab_socket"), (socket.AF_UNIX, "\0lab_canary"), (socket.AF_INET, ("127.0.0.1", 47999))):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            with socket.socket(family, kind) as one:
                one.bind(name)
            print("EVIDENCE", name)
        except OSError as error:
            print(error)
for path in ("/tmp/lab_pipe", "/dev/shm/lab_pipe"):
    try:
        os.mkfifo(path)
        print("EVIDENCE", path)
    except OSError as error:
        print(error)
