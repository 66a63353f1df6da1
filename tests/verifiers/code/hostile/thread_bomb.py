# TRIES: thousands of threads with small stacks
def add(a, b): return None
import threading, time
threading.stack_size(32768)
count = 0
try:
    for _ in range(3000):
        threading.Thread(target=time.sleep, args=(9,), daemon=True).start()
        count += 1
except RuntimeError as error:
    print(count, error)
if count > 1000:
    print("EVIDENCE", count)
