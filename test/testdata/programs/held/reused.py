import ctypes, os, signal, struct, subprocess, sys, time
L = ctypes.CDLL(None, use_errno=True); L.mmap.restype = ctypes.c_void_p
L.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
L.truncate.argtypes = [ctypes.c_void_p, ctypes.c_long]
place = 1 << 45
def remember(path):
    if L.mmap(place, 4096, 3, 0x100022, -1, 0) != place: sys.exit('no memory there')
    ctypes.memmove(place, path.encode() + b'\0', len(path.encode()) + 1)
def victim(path):
    remember(path); open('begun', 'w').close(); L.truncate(place, 0)
def parent(path):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN); subprocess.Popen([sys.executable, sys.argv[0], 'victim', path]).wait()
def heir(path, number, uid):
    own = (ctypes.c_int * 1)(int(number)); args = struct.pack('=10Q', 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(own), 1)
    pid = L.syscall(435, args, len(args)) # clone3
    if pid: sys.exit('%d %d' % (pid, ctypes.get_errno()) if pid < 0 else 0)
    os.setgroups([]); os.setgid(int(uid)); os.setuid(int(uid)); L.capset(struct.pack('=II', 0x20080522, 0), bytes(24)); L.prctl(4, 1, 0, 0, 0)
    remember(path); print('ready', os.getpid(), flush=True); os.close(1); time.sleep(30)
globals()[sys.argv[1]](*sys.argv[2:])
