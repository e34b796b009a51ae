import os, sys, ctypes, errno
if os.environ.get('CARREL') != '1' and 'canary' not in sys.argv: sys.exit('NO WALLS: the attack was not made')
L = ctypes.CDLL(None, use_errno=True)
HERE, DETACH, BIND, REC, MOVE, REMOUNT, RO = -100, 2, 0x1000, 0x4000, 0x2000, 32, 1
CLONE, EMPTY, RECURSIVE = 1, 0x1000, 0x8000
def call(n, *a): return L.syscall(n, *[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
def mount(s, t, kind=None, flags=0, data=None): return L.mount(s.encode(), t.encode(), kind and kind.encode(), ctypes.c_ulong(flags), data and data.encode())
def tree(p, flags=CLONE): return call(428, HERE, p.encode(), flags)
def setattr_(fd, p, clear, flags):
    a = (ctypes.c_uint64 * 4)(0, clear, 0, 0)
    return call(442, fd, p.encode(), flags, a, 32)
def place(fd, p, beneath=0): return call(429, fd, b'', HERE, p.encode(), 4 | beneath)
uid, gid = os.getuid(), os.getgid()
DIR, SHOWN = sys.argv[1], sys.argv[2]
FILE = DIR + '/key.pem'
def fresh():
    if L.unshare(0x10000000 | 0x20000): sys.exit('no namespace: %d' % ctypes.get_errno())
    for name, text in (('setgroups', 'deny'), ('gid_map', '0 %d 1' % gid), ('uid_map', '0 %d 1' % uid)):
        open('/proc/self/' + name, 'w').write(text)
    if 'canary' in sys.argv:
        if mount('none', '/tmp', 'tmpfs'): sys.exit('no tmpfs: %d' % ctypes.get_errno())
        open('/tmp/mask', 'w'); mount('/tmp/mask', FILE, None, BIND)
        mount(SHOWN, SHOWN, None, BIND); mount('', SHOWN, None, BIND | REMOUNT | RO)
    for d in ('/tmp/m', '/tmp/u', '/tmp/w'): os.makedirs(d, exist_ok=True)
    open('/tmp/f', 'w').close()
def look(*places):
    for p in (FILE, '/tmp/m/key.pem', '/tmp/f', '/tmp/m' + FILE) + places:
        try: print(open(p).read())
        except OSError: pass
    for d in (SHOWN, '/tmp/m', '/tmp/m' + SHOWN):
        try: open(d + '/owned', 'w').close()
        except OSError: pass
def through(fd):
    if fd >= 0: look('/proc/self/fd/%d/key.pem' % fd); place(fd, '/tmp/m')
def overlay(lower):
    fd = call(430, b'overlay', 0)
    for k, v in (('lowerdir', lower), ('upperdir', '/tmp/u'), ('workdir', '/tmp/w'), ('userxattr', None)):
        call(431, fd, 0 if v is None else 1, k.encode(), v and v.encode(), 0)
    call(431, fd, 6, None, None, 0)
    through(call(432, fd, 0, 0))
tries = {
    'umount': lambda: L.umount2(FILE.encode(), DETACH),
    'umount shown': lambda: L.umount2(SHOWN.encode(), DETACH),
    'move': lambda: mount(FILE, '/tmp/f', None, MOVE),
    'bind one': lambda: mount(DIR, '/tmp/m', None, BIND),
    'bind all, umount there': lambda: (mount(DIR, '/tmp/m', None, BIND | REC), L.umount2(b'/tmp/m/key.pem', DETACH)),
    'bind root, umount there': lambda: (mount('/', '/tmp/m', None, BIND | REC), L.umount2(('/tmp/m' + FILE).encode(), DETACH), L.umount2(('/tmp/m' + SHOWN).encode(), DETACH)),
    'remount rw': lambda: mount('', SHOWN, None, BIND | REMOUNT),
    'bind rw': lambda: (mount(SHOWN, '/tmp/m', None, BIND), mount('', '/tmp/m', None, BIND | REMOUNT)),
    'tree': lambda: through(tree(DIR)),
    'trees': lambda: (through(tree(DIR, CLONE | RECURSIVE)), L.umount2(b'/tmp/m/key.pem', DETACH)),
    'tree rw': lambda: [(setattr_(fd, '', 1, EMPTY | RECURSIVE), place(fd, '/tmp/m')) for fd in [tree(SHOWN)]],
    'setattr': lambda: (setattr_(HERE, SHOWN, 1, 0), setattr_(HERE, '/', 1, RECURSIVE)),
    'open_tree_attr': lambda: through(call(467, HERE, SHOWN.encode(), CLONE, (ctypes.c_uint64 * 4)(0, 1, 0, 0), 32)),
    'mask as a tree': lambda: (place(tree(FILE, 0), '/tmp/f'), place(tree(SHOWN, 0), '/tmp/m')),
    'beneath': lambda: (mount(DIR, '/tmp/m', None, BIND | REC), place(tree('/tmp/u'), FILE, 0x200), L.umount2(FILE.encode(), DETACH)),
    'overlay': lambda: overlay(DIR),
    'overlay shown': lambda: overlay(SHOWN),
    'overlay of the parent': lambda: overlay(os.path.dirname(DIR)),
    'fspick': lambda: [(call(431, fd, 0, b'rw', None, 0), call(431, fd, 7, None, None, 0)) for fd in [call(433, HERE, SHOWN.encode(), 0)]],
    'pivot': lambda: (mount('/tmp/m', '/tmp/m', None, BIND), os.makedirs('/tmp/m/old'), call(155, b'/tmp/m', b'/tmp/m/old'), L.umount2(('/old' + FILE).encode(), DETACH), look('/old' + FILE)),
    'twice': lambda: (fresh_again(), L.umount2(FILE.encode(), DETACH)),
    'chroot': lambda: os.chroot('/proc/1/root'),
}
def fresh_again():
    uid_, L_ = os.getuid(), L
    if L.unshare(0x10000000 | 0x20000) == 0:
        open('/proc/self/uid_map', 'w').write('0 0 1')
for name, attempt in tries.items():
    pid = os.fork()
    if pid == 0:
        try:
            fresh(); attempt()
        except OSError as e: pass
        look(); sys.stdout.flush(); os._exit(0)
    if os.waitpid(pid, 0)[1]: print('BROKEN', name)
print('tried', len(tries))
