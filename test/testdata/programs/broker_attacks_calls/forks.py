ps = []
try:
    while len(ps) < 300:
        p = os.fork()
        if p == 0:
            for i in range(50): t(os.mkdir, 'f%d' % os.getpid()); t(os.rmdir, 'f%d' % os.getpid())
            os._exit(0)
        ps.append(p)
except OSError: pass
s = time.time(); os.mkdir('mine'); say('SLOW' if time.time() - s > 5 else 'fine', len(ps)); [os.waitpid(p, 0) for p in ps]
