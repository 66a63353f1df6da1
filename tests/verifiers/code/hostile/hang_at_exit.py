# TRIES: never come to an end
def add(a, b): return None
import atexit, threading, time
atexit.register(lambda: time.sleep(100))
threading.Thread(target=time.sleep, args=(100,)).start()
class Loud:
    def write(self, text): return len(text)
    def flush(self):
        while True: pass
    closed = False
import sys
sys.stdout = Loud()
