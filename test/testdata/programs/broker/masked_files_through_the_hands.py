for f in ('.env', 'keys/k'):
    for fl in (os.O_RDWR, os.O_RDWR|os.O_CREAT, os.O_RDONLY|os.O_CREAT, os.O_WRONLY|os.O_TRUNC, os.O_RDONLY|os.O_TRUNC):
        fd = t(os.open, f, fl)
        if isinstance(fd, int): print(t(os.read, fd, 100)); os.close(fd)
L.renameat2(-100, b'.env', -100, b'x', 2); L.renameat2(-100, b'keys', -100, b'hidden', 0); print(os.path.exists('hidden/k') and open('hidden/k').read())
