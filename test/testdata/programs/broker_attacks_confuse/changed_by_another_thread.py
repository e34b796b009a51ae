os.umask(0o022); want = [0o022, 0]; bad = []; stop = time.time() + 4
def make(k):
    n = 0
    while time.time() < stop:
        n += 1; a = tuple(want); f = 'u%d' % k
        os.close(os.open(f, os.O_CREAT|os.O_WRONLY, 0o666)); m = os.stat(f).st_mode & 0o777
        if tuple(want) == a and a[1] % 2 == 0 and m != 0o666 & ~a[0]: bad.append((oct(a[0]), oct(m)))
        os.unlink(f)
ts = [threading.Thread(target=make, args=(k,)) for k in range(3)]; [x.start() for x in ts]
while time.time() < stop:
    m = 0o077 if want[0] == 0o022 else 0o022
    want[1] += 1; os.umask(m); want[0] = m; want[1] += 1; time.sleep(0.03)
[x.join() for x in ts]; say(len(bad), bad[:3]) if bad else say('fine')
