import os.path
def mount(fd): return [l.split()[1] for l in open('/proc/self/fdinfo/%d' % fd) if l.startswith('mnt_id')][0]
ours = {l.split()[0] for l in open('/proc/self/mountinfo')}
rel = os.path.relpath(os.readlink('out'), os.getcwd())
for p in ('.', 'd', '.vscode', '/', '/proc/self/cwd', '/proc/self/root'):
    t(os.mkdir, 'd')
    for fl in (os.O_RDONLY, os.O_RDONLY|os.O_CREAT, os.O_RDWR|os.O_DIRECTORY, os.O_PATH, os.O_TMPFILE|os.O_RDWR):
        fd = t(os.open, p, fl)
        if not isinstance(fd, int): continue
        if stat.S_ISDIR(os.fstat(fd).st_mode) and mount(fd) not in ours: say('MIRROR', p, fl)
        for n in (rel, '../' + rel, '../../..' + os.readlink('out')):
            for w in (os.O_RDWR, os.O_RDWR|os.O_CREAT):
                g = t(os.open, n + '/s', w, dir_fd=fd)
                if isinstance(g, int): say(os.read(g, 9)); os.close(g)
        if os.environ.get('CARREL') == '1': t(os.unlink, rel + '/s', dir_fd=fd); t(os.mkdir, rel + '/EVIL', dir_fd=fd); t(os.rename, 'file', rel + '/EVIL', dst_dir_fd=fd); t(os.link, rel + '/s', 'l', src_dir_fd=fd)
for n in ('out/EVIL', 'out/../outside/EVIL'):
    if os.environ.get('CARREL') == '1':
        for f in (lambda: os.mkdir(n), lambda: open(n, 'w'), lambda: os.symlink('x', n), lambda: os.mknod(n), lambda: os.rename('file', n), lambda: os.chmod('out/s', 0o777), lambda: os.utime('out/s'), lambda: os.truncate('out/s', 0), lambda: socket.socket(socket.AF_UNIX).bind(n)): t(f)
