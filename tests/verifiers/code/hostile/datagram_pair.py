# TRIES: send from a datagram pair to a socket of the host that has a name
def add(a, b): return None
import socket
for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
    try:
        one, two = socket.socketpair(socket.AF_UNIX, kind)
        one.sendto(b"x", "/tmp/attack-lab/canary/letters")
        print("EVIDENCE", kind)
    except OSError as error:
        print(error)
one, two = socket.socketpair()
try:
    one.sendto(b"x", "/tmp/attack-lab/canary/letters")
    print("EVIDENCE stream")
except OSError as error:
    print(error)
