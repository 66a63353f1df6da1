# TRIES: an exception whose text and traceback misbehave
def add(a, b): return None
class Odd(BaseException):
    def __str__(self):
        while True: pass
    __repr__ = __str__
raise Odd
