import mmap
f = open('src/f1.c', 'r+b'); m = mmap.mmap(f.fileno(), 0); f.close(); os.rename('src/f1.c', 'src/renamed'); m[0:3] = b'abc'; m.flush()
fd = os.open('src/f13.c', os.O_WRONLY | os.O_APPEND); os.unlink('src/f13.c'); os.write(fd, b'after'); os.close(fd)
fd = os.open('src/f14.c', os.O_RDWR); os.write(fd, b'1'); os.fchmod(fd, 0o600); os.ftruncate(fd, 2); os.rename('src/f15.c', 'src/f14.c'); os.write(fd, b'2')
