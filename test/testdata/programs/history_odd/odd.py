import os, socket, stat
N = [b'-rf', b'a\nb', b'\xff\xfe', b'x' * 255, b'\\', b'. ', b'\x1b[31m', '\u202e'.encode(), b'*', b'..x']
def make(p, k):
    if k == 0: open(p, 'wb').write(p[:9])
    elif k == 1: os.mkdir(p); open(p + b'/in', 'wb').write(b'in'); os.mkdir(p + b'/' + N[3]); os.symlink(b'/nonexistent/outside', p + b'/l')
    elif k == 2: os.symlink(b'/outside/' + p[:200], p)
    elif k == 3: os.mkfifo(p)
    elif k == 4:
        s = socket.socket(socket.AF_UNIX); d = os.open(os.path.dirname(p) or b'.', os.O_RDONLY); os.fchdir(d)
        try: s.bind(os.path.basename(p))
        except OSError: os.mkfifo(os.path.basename(p))
        os.chdir(TOP)
    elif k == 5: os.symlink(b'.', p)
def gone(p):
    if stat.S_ISDIR(os.lstat(p).st_mode):
        for n in os.listdir(p): gone(p + b'/' + n)
        os.rmdir(p)
    else: os.unlink(p)
TOP = os.getcwdb()
