import threading
for p in ('.vscode/tasks.json', '.git/config'):
    for fl in (os.O_RDONLY, os.O_RDONLY|os.O_CREAT, os.O_RDONLY|os.O_TRUNC if os.environ.get('CARREL') == '1' else os.O_RDONLY, os.O_PATH):
        fd = t(os.open, p, fl)
        if not isinstance(fd, int): continue
        d = os.open('/proc/self/fd', os.O_RDONLY); t(os.symlink, '/proc/self/fd/%d' % fd, 'lnk%d' % fd)
        names = ['/proc/self/fd/%d', '/proc/thread-self/fd/%d', '/dev/fd/%d', '/proc/%d/fd/%%d' % os.getpid(), '/proc/self/task/%d/fd/%%d' % threading.get_native_id(), '/proc//self/./fd/%d', 'lnk%d', '/proc/%d/root/proc/self/fd/%%d' % os.getpid()]
        for n in names:
            for w in (os.O_WRONLY|os.O_APPEND, os.O_RDWR|os.O_CREAT|os.O_APPEND):
                g = t(os.open, n % fd, w)
                if isinstance(g, int): t(os.write, g, b'# EVIL\n'); os.close(g)
        g = t(os.open, str(fd), os.O_WRONLY|os.O_APPEND, dir_fd=d)
        if isinstance(g, int): t(os.write, g, b'# EVIL\n')
        t(os.truncate, '/proc/self/fd/%d' % fd, 0) if os.environ.get('CARREL') == '1' else 0
# and one of a plain file is recorded
fd = os.open('file', os.O_RDONLY); g = t(os.open, '/proc/self/fd/%d' % fd, os.O_WRONLY)
if isinstance(g, int): os.write(g, b'changed'); say('changed')
