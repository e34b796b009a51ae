import mmap, os
f = open('m', 'w+b'); f.truncate(8192); m = mmap.mmap(f.fileno(), 8192); m[0:5] = b'hello'; m[4096:4101] = b'world'
os.rename('m', 'n'); m[5:6] = b'!'; m.flush(); print(open('n', 'rb').read(6), os.stat('n').st_size)
if os.fork() == 0: m[10:11] = b'c'; os._exit(0)
os.wait(); print(m[10:11]); os.unlink('n'); m[0:1] = b'H'; print(m[0:5], os.fstat(f.fileno()).st_nlink)
r = open('r', 'w+b'); r.write(b'x' * 100); r.flush(); q = mmap.mmap(os.open('r', os.O_RDONLY), 100, prot=mmap.PROT_READ); print(q[0:1])
try: mmap.mmap(os.open('r', os.O_RDONLY), 100, prot=mmap.PROT_WRITE)
except OSError as e: print(e.errno)
