L.prctl(38, 1, 0, 0, 0); f = ctypes.create_string_buffer(struct.pack('<HBBI', 6, 0, 0, 0x7fff0000)); p = ctypes.create_string_buffer(struct.pack('<H6xQ', 1, ctypes.addressof(f)))
r = [sys_(317, 1, 8, p), sys_(425, 8, p), sys_(323, 0)]; say(r, *['EVIL' for x in r if isinstance(x, int)]); os.mkdir('still')
