say([n for n in range(3, 1024) if not isinstance(t(os.fstat, n), str)] or [0, 1, 2])
for n in range(64):
    g = t(os.open, '/proc/1/fd/%d' % n, os.O_PATH)
    if isinstance(g, int): say('OPENED', n)
for n in ('root', 'cwd', 'ns/mnt'):
    g = t(os.open, '/proc/1/%s/..' % n, os.O_PATH)
    if isinstance(g, int) and os.path.exists('/proc/self/fd/%d/out/s' % g): say('OPENED', n)
