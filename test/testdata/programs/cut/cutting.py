"""Holds a file that it may write, and cuts it when it is told to: by a path that another
thread changes between a file in /tmp and the descriptor of the first."""
import ctypes, os, struct, sys, threading, time

libc = ctypes.CDLL(None, use_errno=True)
kept, said, told, own = sys.argv[1:]
granted = os.open(kept, os.O_RDWR)
held = os.open('/proc/self/fd/%d' % granted, os.O_PATH)
os.close(granted)
open(own, 'w').write('long enough')
os.truncate(own, 4)
open(said, 'w').write(str(os.path.getsize(own)))
while not os.path.exists(told): time.sleep(0.02)

path, ends = ctypes.create_string_buffer(4096), False
names = [os.fsencode(own) + b'\0', b'/proc/self/fd/%d\0' % held]

def change():
    while not ends:
        for name in names: ctypes.memmove(path, name, len(name))

changing = threading.Thread(target=change)
changing.start()
how = ctypes.create_string_buffer(struct.pack('=QQQ', os.O_TRUNC, 0, 0))
for i in range(2000):
    libc.truncate(path, 0)
    for fd in libc.open(path, os.O_TRUNC), libc.open(path, os.O_TRUNC | 3), libc.syscall(437, -100, path, how, 24):
        if fd >= 0: os.close(fd)
    if os.fstat(held).st_size == 0: break
ends = True
changing.join()
print('it has', os.fstat(held).st_size, 'bytes')
