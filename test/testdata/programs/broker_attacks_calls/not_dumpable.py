L.prctl(4, 0, 0, 0, 0); os.mkdir('by'); d = os.open('by', os.O_RDONLY); p = os.open('by', os.O_PATH); f = os.open('file', os.O_RDONLY); s = socket.socket(socket.AF_UNIX)
r = {'mkdir': t(os.mkdir, 'undumpable', dir_fd=d), 'times': t(os.utime, f, (1, 1)), 'mode': t(os.fchmod, f, 0o640), 'attribute': t(os.setxattr, f, 'user.x', b'y'), 'bind': t(s.bind, 'by/sock'),
    'rename': t(os.rename, 'other', 'moved', dst_dir_fd=p) if not isinstance(t(lambda: open('other', 'x').close()), str) else 'other', 'link': t(os.link, '/proc/self/fd/%d' % f, 'second', dst_dir_fd=d, follow_symlinks=True),
    'again': t(lambda: os.close(os.open('/proc/self/fd/%d' % f, os.O_WRONLY))), 'below': t(lambda: open('/proc/self/fd/%d/new' % d, 'x').close()), 'file system': t(os.statvfs, f).f_flag & os.ST_RDONLY or None}
bad = {k: v for k, v in r.items() if v is not None}; say(bad or 'fine')
