for i, f in enumerate(('sub/.git/config', '.git/config', '.vscode/tasks.json', '.git/hooks/pre-commit.sample', 'out/s')):
    n = 'l%d' % i; say(t(os.link, f, n)); fd = t(os.open, f, os.O_RDONLY)
    if isinstance(fd, int): L.linkat(fd, b'', -100, n.encode(), 0x1000); L.linkat(-100, b'/proc/self/fd/%d' % fd, -100, n.encode(), 0x400)
    if os.path.exists(n): t(lambda: open(n, 'a').write('# EVIL\n'))
say(t(os.link, '/usr/bin/env', 'env'))
fd = os.open('.', os.O_TMPFILE|os.O_RDWR, 0o600); os.write(fd, b'# EVIL\n')
for n in (b'.vscode/new', b'.envrc', b'.git/hooks/post-commit'):
    if os.environ.get('CARREL') == '1': say(L.linkat(-100, b'/proc/self/fd/%d' % fd, -100, n, 0x400))
