# tell.py says what is in the current directory, one path a line. A time is told where it is one
# that was set.
import hashlib, os, stat

names, lines = {}, {}
for at, ds, fs in os.walk(b'.'):
    for n in [b'.'] * (at == b'.') + ds + fs:
        p = os.path.normpath(os.path.join(at, n))
        m = os.lstat(p)
        kind, said = stat.S_IFMT(m.st_mode), b''
        if stat.S_ISREG(kind):
            mode = stat.S_IMODE(m.st_mode)
            if not mode & 0o400: os.chmod(p, mode | 0o400)
            said = hashlib.sha256(open(p, 'rb').read()).hexdigest().encode()
            if not mode & 0o400: os.chmod(p, mode)
        if stat.S_ISLNK(kind): said = os.readlink(p)
        x = b''
        if not stat.S_ISLNK(kind):
            try: x = b''.join(sorted(k.encode() + b'=' + os.getxattr(p, k) for k in os.listxattr(p)))
            except OSError: pass
        time = m.st_mtime_ns if m.st_mtime < 1400000000 and not stat.S_ISLNK(kind) else 0
        lines[p] = [oct(m.st_mode), str(time), said, x]
        if not stat.S_ISDIR(kind): names.setdefault(m.st_ino, []).append(p)
for group in names.values():
    for p in group: lines[p].append(sorted(group))
for p in sorted(lines): print(p, *lines[p])
