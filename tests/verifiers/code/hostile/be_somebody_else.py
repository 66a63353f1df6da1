# TRIES: become root, or anybody
def add(a, b): return None
import os
for change in (lambda: os.setuid(0), lambda: os.setresuid(0, 0, 0), lambda: os.setgroups([0]), lambda: os.setgid(0), lambda: os.nice(-5),
               lambda: os.chroot("/tmp"), lambda: os.sched_setaffinity(0, {0}), lambda: os.setpriority(os.PRIO_PROCESS, 0, -1)):
    try:
        change()
        print("EVIDENCE")
    except OSError as error:
        print(error)
