attr = struct.pack('<Q', (1 << 13) - 1); b = ctypes.create_string_buffer(attr)
fd = L.syscall(444, b, 8, 0); print('ruleset', fd >= 0); L.prctl(38, 1, 0, 0, 0); restricted = L.syscall(446, fd, 0) == 0; print('restricted', restricted)
if not restricted: sys.exit() # refused: then it knows that it is not
for name, f in (('open', lambda: os.write(os.open('f', os.O_WRONLY|os.O_TRUNC), b'EVIL')), ('mkdir', lambda: os.mkdir('EVIL1')), ('unlink', lambda: os.unlink('f')), ('rename', lambda: os.rename('f', 'EVIL2')), ('create', lambda: open('EVIL3', 'w').write('EVIL')), ('symlink', lambda: os.symlink('x', 'EVIL4')), ('truncate', lambda: os.truncate('f', 0))): print(name, t(f))
