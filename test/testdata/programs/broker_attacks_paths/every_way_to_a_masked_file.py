for f in ('.env', 'keys/k'):
    for fl in (os.O_RDWR, os.O_RDWR|os.O_CREAT, os.O_RDONLY|os.O_CREAT, os.O_WRONLY|os.O_APPEND, os.O_PATH, os.O_RDWR|os.O_NOFOLLOW):
        for how in (f, '/proc/self/cwd/' + f, '/proc/self/root' + os.getcwd() + '/' + f, '/proc/%d/cwd/' % os.getpid() + f, 'x/../' + f, '//' + os.getcwd() + '/./' + f):
            fd = t(os.open, how, fl)
            if isinstance(fd, int):
                for g in (fd, t(os.open, '/proc/self/fd/%d' % fd, os.O_RDWR), t(os.open, '/proc/self/fd/%d' % fd, os.O_RDONLY)):
                    if isinstance(g, int): say(t(os.read, g, 99))
                os.close(fd)
for f in ('.env', 'keys/k'):
    say(t(os.link, f, 'l')); say(t(os.rename, f, 'r')); say(L.renameat2(-100, f.encode(), -100, b'file', 2)); fd = t(os.open, f, os.O_PATH)
    if isinstance(fd, int): say(L.linkat(fd, b'', -100, b'l2', 0x1000), L.linkat(-100, b'/proc/self/fd/%d' % fd, -100, b'l3', 0x400))
for p in ('keys', '.'): say(t(os.rename, p, 'moved'), t(os.open, p, os.O_TMPFILE|os.O_RDWR) if p == 'keys' else 0)
say([open(n).read() for n in ('l', 'r', 'l2', 'l3', 'moved/k') if os.path.exists(n) and os.access(n, os.R_OK)])
