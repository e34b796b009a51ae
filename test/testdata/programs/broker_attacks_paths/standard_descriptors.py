say('said'); print('told', file=sys.stderr, flush=True); got = sys.stdin.read() if os.environ['HOW'] == '<' else 'SECRET\n'
for n in (0, 1, 2):
    for fl in (os.O_RDWR, os.O_WRONLY|os.O_TRUNC):
        g = t(os.open, '/proc/self/fd/%d' % n, fl)
        if isinstance(g, int) and stat.S_ISREG(os.fstat(g).st_mode): os.write(g, b'EVIL')
    if stat.S_ISREG(os.fstat(n).st_mode): t(os.fchmod, n, 0o777); t(os.ftruncate, n, 0)
sys.exit(7 if got == 'SECRET\n' else 8)
