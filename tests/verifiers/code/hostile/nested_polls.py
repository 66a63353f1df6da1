# TRIES: graphs of epolls that take the kernel long to walk
def add(a, b): return None
import os, select
polls = []
try:
    while True:
        polls.append(select.epoll())
except OSError:
    pass
for one in polls:
    for other in polls:
        try:
            one.register(other.fileno(), select.EPOLLIN | select.EPOLLET)
        except OSError:
            pass
reader, writer = (polls.pop().close(), polls.pop().close()) and os.pipe()
while True:
    for one in polls:
        try:
            one.register(reader, select.EPOLLIN)
        except OSError:
            pass
    os.write(writer, b"x")
    os.read(reader, 1)
