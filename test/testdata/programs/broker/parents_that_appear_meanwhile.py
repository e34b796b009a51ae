bad = []
def f(i, k, b):
    b.wait()
    for p in ('r%d/n/p%d' % (k, i), 'r%d/n' % k, 'r%d/n/p%d' % (k, i)):
        e = t(os.mkdir, p)
        if e not in (None, 'ENOENT', 'EEXIST'): bad.append((p, e))
for k in range(100):
    os.mkdir('r%d' % k); b = threading.Barrier(4); ts = [threading.Thread(target=f, args=(i, k, b)) for i in range(4)]; [x.start() for x in ts]; [x.join() for x in ts]
print(bad[:3] or 'fine')
