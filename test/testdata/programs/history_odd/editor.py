import os, time
for i in range(10**6):
    at = 'src/f%d.c' % (i % 30 + 1)
    try:
        with open(at + '~' * (i % 2), 'w') as f: f.write('saved %d\n' % i)
        if i % 2: os.rename(at + '~', at)
    except OSError: pass
    time.sleep(0.002)
