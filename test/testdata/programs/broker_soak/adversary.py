import random
stop = time.time() + SECONDS; home = os.getcwd(); out = os.readlink('out')
def on(): return time.time() < stop
def xchg(a, b): return L.renameat2(-100, a, -100, b, 2)
shared = ctypes.create_string_buffer(64)
texts = [b'r/d1/x', b'r/d2/x', b'out/EVIL', b'.vscode/EVIL', b'.git/hooks/EVIL', b'keys/EVIL', b'r/s/EVIL', (out + '/EVIL').encode()[:63], b'/proc/self/fd/3', b'/proc/self/cwd/EVIL']
def text():
    while on(): shared.value = random.choice(texts)
def names():
    while on():
        t(os.rename, 'r/d1', 'r/s'); t(os.symlink, random.choice([out, '../.vscode', '../.git/hooks', 'd2', '/proc/self/fd/3', '/proc/self/cwd']), 'r/d1')
        t(os.unlink, 'r/d1'); t(os.rename, 'r/s', 'r/d1'); xchg(b'r/d1', b'r/d2'); xchg(b'r/d1/k', b'r/d2/k'); xchg(b'r/d1/k/1', b'r/d2/e')
def calls():
    i = 0
    while on():
        i += 1; n = b'r/d1/e/f%d' % (i % 50)
        for f in (lambda: L.mkdir(shared, 0o755), lambda: L.open(shared, 0o101, 0o644), lambda: L.rename(b'r/f', shared), lambda: L.symlink(b'/etc', shared), lambda: L.link(b'file', shared),
                  lambda: L.unlink(shared), lambda: L.chmod(shared, 0o777), lambda: L.truncate(shared, 0), lambda: L.setxattr(shared, b'user.x', b'y', 1, 0), lambda: L.open(n, 0o1101, 0o600), lambda: L.unlink(n)):
            r = f()
            if r > 2: t(os.write, r, b'%d' % i); t(os.close, r)
def dirs():
    while on():
        t(os.chdir, random.choice(['r/d1/e', 'r/d2/k'])); t(lambda: os.close(os.open('w%d' % random.randrange(9), os.O_CREAT|os.O_WRONLY, 0o600))); t(os.rmdir, '../e/m'); t(os.mkdir, '../e/m'); os.chdir(home)
def links():
    n = 0
    while on():
        n += 1; a, b = 'hl/%d' % (n % 4 + 1), 'hl/l%d' % (n % 7)
        t(os.link, a, b); t(os.rename, b, 'hl/1'); t(os.symlink, random.choice(['../.git/config', '1', out + '/s']), b); t(os.link, b, 'hl/n', follow_symlinks=False); t(os.chmod, 'hl/n', 0o600); t(os.unlink, 'hl/n')
        t(lambda: open(b, 'a').write('x')); t(os.unlink, b); t(os.rename, 'hl/1', a)
def becomes(): # a file that is a directory when it is moved
    n = 0
    while on():
        t(os.mkdir, 'race%d' % n)
        if t(os.rename, 'y', 'race%d/.git' % n) is None:
            if os.path.isdir('race%d/.git' % n): break
            n += 1; t(lambda: open('y', 'x').close())
def flips():
    while on(): xchg(b'x', b'y')
def conf(): # a directory that gets a protected name while somebody makes something in it
    n = 0
    while on():
        q = 'q%d' % n; t(os.mkdir, q); t(os.mkdir, q + '/c')
        t(os.rename, q + '/c', q + '/conf')
        if t(os.rename, q + '/conf', q + '/c') is not None: t(os.unlink, q + '/c/a')
        if os.path.exists(q + '/conf/a'): break
def fills():
    while on():
        r = t(os.open, 'q0/c/a', os.O_CREAT|os.O_WRONLY, 0o600)
        if isinstance(r, int): os.close(r)
        t(os.mkdir, 'q0/c/b'); t(os.rmdir, 'q0/c/b'); t(os.unlink, 'q0/c/a')
def nested(): # with a root and mounts of its own, half way through others' calls
    while on():
        p = os.fork()
        if p == 0:
            d = os.open('r', os.O_RDONLY); fd = t(os.open, 'nest', os.O_CREAT|os.O_RDWR, 0o600); t(os.mkdir, 'jail')
            go = threading.Thread(target=lambda: [t(f) for _ in range(30) for f in (lambda: os.mkdir('EVIL', dir_fd=d), lambda: os.rmdir('EVIL', dir_fd=d), lambda: os.chmod('/proc/self/fd/%d' % fd, 0o4755), lambda: os.fchmod(fd, 0o600), lambda: open('.vscode/EVIL', 'w'))]); go.start()
            if L.unshare(random.choice([0x10000000, 0x10020000])) == 0:
                L.mount(b'jail', b'r', None, 4096, None); L.mount(b'none', b'.vscode', b'tmpfs', 0, None); t(os.chroot, random.choice(['jail', '.', '/']))
            for f in (lambda: os.mkdir('EVIL'), lambda: os.mkdir('/EVIL'), lambda: os.rename('../file', '/EVIL'), lambda: os.chmod('/proc/self/fd/%d' % fd, 0o777), lambda: os.unlink('f', dir_fd=d)): t(f)
            go.join(); os._exit(0)
        if random.random() < .3: time.sleep(random.random() / 100); os.kill(p, 9)
        os.waitpid(p, 0)
def twins(): # names that nobody uses twice: each that is made must be the one that was recorded
    both = ctypes.create_string_buffer(64); i = [0]; os.makedirs('u', exist_ok=True); both.value = b'u/a0'
    def flip():
        while i[0] < 3000 and on(): both.value = b'u/a%d' % i[0]; both.value = b'u/b%d' % i[0]
    x = threading.Thread(target=flip); x.start()
    while x.is_alive(): L.mkdir(both, 0o700); i[0] += 1
    x.join()
def mixed(): ts = [threading.Thread(target=f) for f in (text, names, calls, calls)]; [x.start() for x in ts]; [x.join() for x in ts]
ps = []
for f in (mixed, mixed, dirs, links, becomes, flips, conf, fills, nested, twins):
    p = os.fork()
    if p == 0: f(); os._exit(0)
    ps.append(p)
for p in ps: os.waitpid(p, 0)
say('raced')
