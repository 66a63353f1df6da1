# TRIES: return what is too large to send
def add(a, b):
    return "x" * 10**8
