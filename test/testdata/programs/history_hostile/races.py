import ctypes, os, random, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
end, seed, how = time.time() + float(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
names = ['a%d' % i for i in range(6)] + ['d/a%d' % i for i in range(6)]
def work(n):
    r, kept = random.Random(seed * 100 + n), []
    while time.time() < end:
        a, b = r.choice(names), r.choice(names)
        try:
            k = r.randrange(12)
            if k < 2: os.unlink(a)
            elif k == 2: os.rename(a, b)
            elif k == 3: os.link(a, b)
            elif k == 4: libc.renameat2(-100, a.encode(), -100, b.encode(), 2)
            elif k < 8:
                fd = os.open(a, os.O_RDWR | os.O_CREAT | (os.O_TRUNC if r.randrange(2) else 0), 0o644)
                os.write(fd, b'junk%d' % r.randrange(1000))
                if r.randrange(2) and 'held' in how: kept.append(fd)
                else: os.close(fd)
                if len(kept) > 4: os.close(kept.pop(0))
            elif k == 8 and kept: os.pwrite(r.choice(kept), b'late%d' % r.randrange(1000), r.randrange(4))
            elif k == 9: os.truncate(a, r.randrange(9))
            elif k == 10: os.chmod(a, r.choice([0o600, 0o644]))
            elif k == 11: os.utime(a, ns=(r.randrange(10**18), r.randrange(10**18)))
        except OSError: pass
threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
for t in threads: t.start()
while 'marks' in how and time.time() < end:
    for m in 'end', 'begin': os.system('/run/carrel/bin/carrel step ' + m + ' 2>/dev/null')
    time.sleep(0.12)
for t in threads: t.join()
