# TRIES: return what is nested too deep
def add(a, b):
    value = 3
    for _ in range(10**6):
        value = [value]
    return value
