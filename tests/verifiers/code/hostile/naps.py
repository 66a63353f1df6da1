# TRIES: neither compute nor wait: naps that are too short for either clock
import time
def add(a, b):
    while True:
        time.sleep(2e-5)
while True:
    time.sleep(2e-5)
