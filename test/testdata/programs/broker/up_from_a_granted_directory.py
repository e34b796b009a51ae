for p in ('.', 'd', '.vscode'):
    t(os.mkdir, 'd')
    for fl in (os.O_RDONLY, os.O_RDONLY|os.O_CREAT, os.O_RDWR|os.O_DIRECTORY, os.O_PATH, os.O_TMPFILE|os.O_RDWR):
        fd = t(os.open, p, fl)
        if not isinstance(fd, int): continue
        for up in ('..', '../..', '../../..', '../../../..', '../../../../..'):
            g = t(os.open, up + '/outside/s', os.O_RDWR|os.O_CREAT, dir_fd=fd)
            if isinstance(g, int): print(os.read(g, 9))
