# TRIES: write to /proc: memory, sysctl, oom score
def add(a, b): return None
import os
for path in ("/proc/self/mem", f"/proc/{os.getppid()}/mem", "/proc/1/mem", "/proc/sys/kernel/core_pattern",
             "/proc/sysrq-trigger", "/proc/self/oom_score_adj", "/proc/self/uid_map", "/proc/self/attr/current"):
    try:
        open(path, "r+b", 0)
        print("EVIDENCE", path)
    except OSError as error:
        print(error)
