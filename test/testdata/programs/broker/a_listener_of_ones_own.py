L.prctl(38, 1, 0, 0, 0); f = ctypes.create_string_buffer(struct.pack('<HBBI', 6, 0, 0, 0x7fff0000)); p = ctypes.create_string_buffer(struct.pack('<H6xQ', 1, ctypes.addressof(f)))
r = L.syscall(317, 1, 8, p); print('refused' if r < 0 else 'a second listener', flush=True); open('still', 'w').write('works'); print('still there')
