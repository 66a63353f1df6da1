# TRIES: be killed by the kernel, so that the sandbox takes it for its own failure
import resource
resource.setrlimit(resource.RLIMIT_CPU, (0, 0))
def add(a, b):
    while True: pass
while True: pass
