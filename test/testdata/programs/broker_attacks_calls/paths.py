m = mmap.mmap(-1, 8192); at = ctypes.addressof(ctypes.c_char.from_buffer(m)); L.munmap(ctypes.c_void_p(at + 4096), 4096)
def p(off): return ctypes.c_void_p(at + off)
m[4090:4096] = b'abcdef'; r = [sys_(83, p(4090), 0o700)]; m[4090:4096] = b'whole\0'; r += [sys_(83, p(4090), 0o700), sys_(83, ctypes.c_void_p(0), 0), sys_(83, ctypes.c_void_p(1), 0), sys_(83, ctypes.c_void_p(at + 4096), 0), sys_(83, ctypes.c_void_p(-1), 0)]
r += [sys_(83, b'a/' * 2047 + b'ab', 0), sys_(83, b'x' * 256, 0), sys_(83, b'', 0), sys_(83, b'y' * 100000, 0)]
say(r); say('fine' if r == ['EFAULT', 0, 'EFAULT', 'EFAULT', 'EFAULT', 'EFAULT', 'ENOENT', 'ENAMETOOLONG', 'ENOENT', 'ENAMETOOLONG'] or r[6] == 'ENAMETOOLONG' and r[:6] == ['EFAULT', 0] + ['EFAULT'] * 4 else 'OTHER')
os._exit(0)
