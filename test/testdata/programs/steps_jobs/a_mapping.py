import ctypes, os, time
f = open("log", "w+b"); f.write(b"one\n\n\n\n\n"); f.flush()
c = ctypes.CDLL(None); c.mmap.restype = ctypes.c_void_p; c.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
m = c.mmap(None, 8, 3, 1, f.fileno(), 0); f.close()
open("/tmp/ready", "w")
while not os.path.exists("/tmp/go"): time.sleep(0.02)
ctypes.memmove(m + 4, b"two\n", 4); open("/tmp/two", "w"); time.sleep(60)
