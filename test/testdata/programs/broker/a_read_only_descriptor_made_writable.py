for p in ('.vscode/tasks.json', '.git/config', '.git/hooks/pre-commit.sample'):
    for fl in (os.O_RDONLY, os.O_RDONLY|os.O_CREAT, os.O_RDONLY|os.O_NOATIME, os.O_PATH):
        fd = t(os.open, p, fl)
        if not isinstance(fd, int): continue
        for how in ('/proc/self/fd/%d', '/proc/thread-self/fd/%d', '/dev/fd/%d'):
            g = t(os.open, how % fd, os.O_WRONLY|os.O_APPEND)
            if isinstance(g, int): t(os.write, g, b'# EVIL\n')
