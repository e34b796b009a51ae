import os
way = ['a', 'a/b', 'a/b/c', 'a/b/c/d']
os.makedirs(way[-1]); open('a/b/c/d/f', 'w').write('kept')
dirs = [os.open(d, os.O_RDONLY) for d in way]; f = os.open('a/b/c/d/f', os.O_RDONLY); os.chdir(way[-1])
def attempt(name, flags):
    try: os.close(os.open(name, os.O_WRONLY | flags)); print(name, flags, 'opened')
    except OSError as e: print(name, flags, e.strerror)
for n, d in enumerate(dirs):
    os.fchmod(d, 0)
    for name, flags in ('f', 0), ('f', os.O_TRUNC), ('new%d' % n, os.O_CREAT), ('.', os.O_TMPFILE): attempt(name, flags)
    try: os.close(os.open('/proc/self/fd/%d' % f, os.O_WRONLY)); print('again')
    except OSError as e: print('again', e.strerror)
for d in dirs: os.fchmod(d, 0o755)
os.mkdir('away'); os.chdir('away'); os.mkdir('x'); os.rmdir('x'); os.rmdir('../away'); os.fchmod(dirs[-1], 0)
for flags in os.O_CREAT, 0: attempt('x', flags)
os.fchmod(dirs[-1], 0o755)
