for n in ('.GIT/config', '.Git/hooks/x', '.VSCODE/tasks.json', '.vscode\u200c/tasks.json'): t(os.makedirs, os.path.dirname(n)); t(lambda: open(n, 'w').write('EVIL'))
fd = t(os.open, 'fold', os.O_RDONLY) if t(os.mkdir, 'fold') is None else -1
say(t(fcntl.ioctl, fd, 0x40086602, struct.pack('l', 0x40000000)))
