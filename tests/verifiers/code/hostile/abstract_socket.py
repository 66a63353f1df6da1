# TRIES: connect to an abstract socket of the host
def add(a, b): return None
import socket
s = socket.socket(socket.AF_UNIX)
s.connect("\0lab_canary")
print("EVIDENCE", s.recv(20))
