open('f', 'w').close(); os.mkdir('d'); os.mkfifo('p'); os.symlink('f', 'l'); os.symlink('none', 'dead')
fd = os.open('f', os.O_RDWR); ro = os.open('f', os.O_RDONLY); op = os.open('f', os.O_PATH); dd = os.open('.', os.O_RDONLY)
m = mmap.mmap(-1, 8192); page = ctypes.addressof(ctypes.c_char.from_buffer(m)); L.munmap(ctypes.c_void_p(page + 4096), 4096)
N = b'user.n'; A = args(b'one')
for i, (f, a) in enumerate([
    (setx, (CWD, b'f', 0, N, A)), (setx, (dd, b'f', 0, b'user.dd', A)), (setx, (fd, b'', EMPTY, b'user.fd', A)), (setx, (fd, NULL, EMPTY, b'user.null', A)),
    (setx, (ro, b'', EMPTY, b'user.ro', A)), (setx, (op, b'', EMPTY, b'user.op', A)), (setx, (CWD, b'', EMPTY, b'user.cwd', A)), (setx, (CWD, NULL, EMPTY, b'user.cwd2', A)),
    (setx, (-1, b'', EMPTY, N, A)), (setx, (99, NULL, EMPTY, N, A)), (setx, (-1, b'f', 0, N, A)), (setx, (fd, b'f', 0, N, A)), (setx, (fd, b'', 0, N, A)), (setx, (fd, NULL, 0, N, A)),
    (setx, (fd, b'f', EMPTY, N, A)), (setx, (dd, b'f', EMPTY, b'user.both', A)),
    (setx, (CWD, b'l', 0, b'user.link', A)), (setx, (CWD, b'l', NOFOLLOW, N, A)), (setx, (CWD, b'dead', 0, N, A)), (setx, (CWD, b'none', 0, N, A)), (setx, (CWD, b'd', 0, N, A)), (setx, (CWD, b'p', 0, N, A)),
    (setx, (CWD, b'f', 0x800, N, A)), (setx, (CWD, b'f', 1 << 31, N, A)), (setx, (CWD, b'f', 0, N, args(b'x', fl=4))), (setx, (CWD, b'f', 0, N, args(b'x', fl=1))), (setx, (CWD, b'f', 0, b'user.m', args(b'x', fl=2))),
    (setx, (CWD, b'f', 0, N, A, 0)), (setx, (CWD, b'f', 0, N, A, 15)), (setx, (CWD, b'f', 0, N, A + b'\0' * 8, 24)), (setx, (CWD, b'f', 0, N, A + b'\1' * 8, 24)), (setx, (CWD, b'f', 0, N, A + bytes(4080), 4096)),
    (setx, (CWD, b'f', 0, N, A + bytes(4081), 4097)), (setx, (CWD, b'f', 0, N, A, 1 << 40)), (setx, (CWD, b'f', 0, N, A, -1)), (setx, (CWD, b'f', 0, N, NULL)), (setx, (CWD, b'f', 0, N, ctypes.c_void_p(page + 4090))),
    (setx, (CWD, b'f', 0, N, args(b'x', 65537))), (setx, (CWD, b'f', 0, N, args(b'x', 0xffffffff))), (setx, (CWD, b'f', 0, N, struct.pack('=QII', page + 4096, 4, 0))), (setx, (CWD, b'f', 0, N, struct.pack('=QII', page + 4090, 10, 0))), (setx, (CWD, b'f', 0, b'user.empty', struct.pack('=QII', 0, 0, 0))),
    (setx, (CWD, b'f', 0, b'', A)), (setx, (CWD, b'f', 0, b'user.' + b'x' * 250, A)), (setx, (CWD, b'f', 0, b'user.' + b'x' * 251, A)), (setx, (CWD, b'f', 0, b'user.' + b'x' * 9000, A)), (setx, (CWD, b'f', 0, NULL, A)), (setx, (CWD, b'f', 0, b'nothing', A)),
    (setx, (CWD, b'x' * 5000, 0, N, A)), (setx, (CWD, ctypes.c_void_p(page + 4096), 0, N, A)), (setx, (CWD, b'/proc/self/fd/%d' % fd, 0, b'user.proc', A)), (setx, (CWD, b'd/../f', 0, b'user.dots', A)),
    (remx, (CWD, b'f', 0, b'user.dd')), (remx, (fd, b'', EMPTY, b'user.fd')), (remx, (fd, NULL, EMPTY, b'user.null')), (remx, (op, b'', EMPTY, N)), (remx, (fd, b'', 0, N)), (remx, (CWD, b'f', 0x800, N)), (remx, (CWD, b'l', NOFOLLOW, N)),
    (remx, (CWD, b'l', 0, b'user.link')), (remx, (CWD, b'f', 0, b'user.missing')), (remx, (CWD, b'f', 0, b'')), (remx, (CWD, b'f', 0, NULL)), (remx, (CWD, b'none', 0, N)), (remx, (99, b'', EMPTY, N)), (remx, (CWD, b'f', 0, b'user.' + b'x' * 251)),
    (seta, (CWD, b'f', attr(0x80))), (seta, (fd, b'', attr(0xc0), EMPTY)), (seta, (ro, NULL, attr(0x80), EMPTY)), (seta, (op, b'', attr(0x40), EMPTY)), (seta, (fd, b'', attr(0x40))), (seta, (CWD, b'', attr(0), EMPTY)), (seta, (99, b'', attr(0), EMPTY)), (seta, (fd, b'f', attr(0))), (seta, (dd, b'd', attr(0x80))),
    (seta, (CWD, b'l', attr(0x40))), (seta, (CWD, b'l', attr(0x80), NOFOLLOW)), (seta, (CWD, b'p', attr(0x80))), (seta, (CWD, b'none', attr(0))), (seta, (CWD, b'f', attr(0), 0x800)), (seta, (CWD, b'f', attr(4))), (seta, (CWD, b'f', attr(1 << 32))), (seta, (CWD, b'f', attr(1 << 30))), *([(seta, (CWD, b'f', attr(x))) for x in (0x8, 0x10) if os.getuid()]), # root has no privileges inside
    (seta, (CWD, b'f', attr(0), 0, 23)), (seta, (CWD, b'f', attr(0), 0, 0)), (seta, (CWD, b'f', attr(0) + bytes(8), 0, 32)), (seta, (CWD, b'f', attr(0) + b'\0\0\1' + bytes(5), 0, 32)), (seta, (CWD, b'f', attr(0) + bytes(4073), 0, 4097)), (seta, (CWD, b'f', attr(0), 0, 1 << 33)), (seta, (CWD, b'f', NULL)), (seta, (CWD, b'f', ctypes.c_void_p(page + 4090))), (seta, (CWD, ctypes.c_void_p(page + 4096), attr(0))),
    (seta, (CWD, b'f', attr(0x80)))]):
    r = f(*a); say(i, f.__name__, r)
    for n in ('f', 'd', '.'):
        b = ctypes.create_string_buffer(28); g = os.open(n, os.O_RDONLY); fcntl.ioctl(g, 0x801c581f, b); os.close(g)
        say('  ', n, sorted((k, os.getxattr(n, k)) for k in os.listxattr(n)), struct.unpack('=I', b.raw[:4])[0])
os._exit(0)
