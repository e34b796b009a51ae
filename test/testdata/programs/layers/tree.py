# tree.py SEED makes a tree in the current directory; tree.py SEED change changes it. Both do the
# same each time that they are given the same number.
import os, random, stat, subprocess, sys

change = len(sys.argv) > 2
r = random.Random(int(sys.argv[1]) * 2 + change)
NAMES = [b'a', b'b', b'c.txt', b'dir', b'.hidden', b'with space', b'new\nline', b'\xff\xfe', b'-n', b'.wh.a', b'x' * 200, 'ä'.encode()]
DAYS = 86400
USER = os.getuid() != 0  # root writes outside where a mode does not let it inside
OLD = 1262304000  # 2010

def every():
    files, dirs = [], []
    for at, ds, fs in os.walk(b'.'):
        ds.sort()
        for d in list(ds):
            p = os.path.join(at, d)
            (files if os.path.islink(p) else dirs).append(p)
        files += [os.path.join(at, f) for f in sorted(fs)]
    return sorted(files), sorted(dirs)

def somewhere():
    return r.choice([b'.'] + every()[1])

def fresh():
    for _ in range(20):
        p = os.path.join(somewhere(), r.choice(NAMES) + b'%d' % r.randrange(5))
        if not os.path.lexists(p): return p
    return os.path.join(b'.', b'n%d' % r.randrange(10 ** 9))

def content():
    return r.randbytes(r.choice([0, 1, 10, 4096, 5000, 70000]))

def write(p, how='wb'):
    with open(p, how) as f: f.write(content())

def regular():
    found = [f for f in every()[0] if stat.S_ISREG(os.lstat(f).st_mode)]
    return r.choice(found) if found else None

def attribute(p):
    try: os.setxattr(p, 'user.k%d' % r.randrange(3), r.randbytes(5))
    except OSError: pass

def old(p):
    t = (OLD + r.randrange(300 * DAYS)) * 10 ** 9 + r.randrange(10 ** 9)
    os.utime(p, ns=(t, t), follow_symlinks=False)

def remove(p):
    if os.path.isdir(p) and not os.path.islink(p): subprocess.run([b'rm', b'-rf', b'--', p], check=True)
    elif os.path.lexists(p): os.unlink(p)

def linked(d):
    return any(os.lstat(os.path.join(at, f)).st_nlink > 1 for at, _, fs in os.walk(d) for f in fs)

def act():
    f, (files, dirs) = regular(), every()
    d = r.choice(dirs) if dirs else None
    one = r.choice(files) if files else None
    k = r.randrange(26)
    if k == 0: write(fresh())
    elif k == 1 and f: write(f)                             # in place
    elif k == 2 and f: write(f, 'ab')
    elif k == 3 and f:                                      # as editors save
        p = fresh(); write(p); os.rename(p, f)
    elif k == 4 and one: os.unlink(one)
    elif k == 5 and d: remove(d)
    elif k == 6: os.mkdir(fresh())
    elif k == 7: os.symlink(r.choice(NAMES), fresh())
    elif k == 8: os.mkfifo(fresh())
    elif k == 9 and f: os.link(f, fresh(), follow_symlinks=False)
    elif k == 10 and f: os.chmod(f, r.choice([0o600, 0o644, 0o755, 0o400 if USER else 0o640]))
    elif k == 11 and d: os.chmod(d, r.choice([0o700, 0o755, 0o500 if USER else 0o711, 0o1777]))
    elif k == 12 and one: os.rename(one, fresh())
    elif k == 13 and d and not linked(d):                   # EXDEV in a layer: mv copies
        p = fresh()
        if not p.startswith(d + b'/'): subprocess.run([b'mv', b'-T', b'--', d, p], check=True)
    elif k == 14 and d:                                     # opaque
        remove(d); os.mkdir(d); write(os.path.join(d, b'again'))
    elif k == 15 and d:                                     # a file in place of a directory
        remove(d); write(d)
    elif k == 16 and one:                                   # and the other way
        remove(one); os.mkdir(one); write(os.path.join(one, b'in'))
    elif k == 17 and one:
        remove(one); os.symlink(b'to', one)
    elif k == 18 and f: attribute(f)
    elif k == 19 and d: attribute(d)
    elif k == 20 and f: old(f)
    elif k == 21 and f:                                     # the same again, as another file
        data = open(f, 'rb').read(); m = os.lstat(f); remove(f)
        with open(f, 'wb') as out: out.write(data)
        os.chmod(f, stat.S_IMODE(m.st_mode)); os.utime(f, ns=(m.st_atime_ns, m.st_mtime_ns))
    elif k == 22 and f and one and one != f:                # a name of a file in place of another file
        remove(one); os.link(f, one, follow_symlinks=False)
    elif k == 23:                                           # there, and gone again
        p = fresh(); write(p); remove(p)
    elif k == 24 and f: os.truncate(f, r.randrange(100))
    elif k == 25 and d:
        p = os.path.join(d, b'deep/er/and/er'); os.makedirs(p, exist_ok=True); write(os.path.join(p, b'f'))

def tried(what=act):
    try: what()
    except (PermissionError, FileNotFoundError, FileExistsError, NotADirectoryError, IsADirectoryError, subprocess.CalledProcessError) as e:
        if change: print(type(e).__name__)

if not change:
    for _ in range(r.randrange(3, 12)):
        p = os.path.join(somewhere(), r.choice(NAMES))
        if not os.path.lexists(p): os.mkdir(p)
    for _ in range(r.randrange(5, 25)): tried(lambda: write(fresh()))
    for _ in range(r.randrange(6)): tried()
    for _ in range(r.randrange(5)):
        f = regular()
        if f: tried(lambda: os.link(f, fresh(), follow_symlinks=False))
    files, dirs = every()
    for p in files + dirs[::-1] + [b'.']: tried(lambda: old(p))
else:
    for _ in range(r.randrange(1, 30)): tried()
