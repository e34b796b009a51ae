EMPTY, NOFOLLOW, CWD = 0x1000, 0x100, -100
keep = []; NULL = ctypes.c_void_p(0)
def mem(b): keep.append(ctypes.create_string_buffer(b, max(len(b), 1))); return ctypes.addressof(keep[-1])
def args(v, n=None, fl=0): return struct.pack('=QII', mem(v), len(v) if n is None else n, fl)
def setx(fd, path, at, name, a, size=16): return sys_(463, fd, path, at, name, a, size)
def remx(fd, path, at, name): return sys_(466, fd, path, at, name)
def attr(x): return struct.pack('=QIIII', x, 0, 0, 0, 0)
def seta(fd, path, a, at=0, size=24): return sys_(469, fd, path, a, size, at)
