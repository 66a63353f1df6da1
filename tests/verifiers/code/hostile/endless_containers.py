# TRIES: return containers that hold themselves, or never end
class Endless(list):
    def __iter__(self):
        while True: yield self
    def __len__(self): return 1 << 62
class Keys(dict):
    def items(self):
        while True: yield self, self
def add(a, b):
    if a == 1:
        value = []
        value.append(value)
        return value
    one = Keys()
    one[0] = Endless([one])
    return one
def later():
    try:
        yield
    finally:
        print(3)
        yield
kept = later()
next(kept)
