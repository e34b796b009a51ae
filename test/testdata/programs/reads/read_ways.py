import os, sys, ctypes, fcntl, subprocess, threading, time, struct, errno, atexit, shutil, tempfile
L = ctypes.CDLL(None, use_errno=True)
def rd(p, fl=os.O_RDONLY, **k):
    fd = os.open(p, fl, **k)
    try: return os.read(fd, 100).decode()
    finally: os.close(fd)
def child(f):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try: os.write(w, f().encode())
        except BaseException as e: os.write(w, repr(e).encode())
        os._exit(0)
    os.close(w); out = os.fdopen(r).read(); os.waitpid(pid, 0)
    return out
def cd(d, f): return child(lambda: (os.chdir(d), f())[1])
def held(d, how):
    fd = os.open(d + '/s.pem', os.O_PATH)
    return rd(how % fd)
def others(d):
    fd = os.open(d + '/s.pem', os.O_PATH); p = subprocess.Popen(['sleep', '5'], pass_fds=[fd]); os.close(fd)
    try: return rd('/proc/%d/fd/%d' % (p.pid, fd))
    finally: p.kill(); p.wait()
def jail(d, root, path):
    def f():
        os.chdir(d)
        if L.unshare(0x10000000): return 'unshare'
        os.chroot(root)
        return rd(path)
    return child(f)
def openat2(d, flags, resolve):
    how = struct.pack('QQQ', flags, 0, resolve)
    fd = L.syscall(437, -100, (d + '/s.pem').encode(), how, 24)
    return os.read(fd, 100).decode() if fd >= 0 else 'no'
def linked(d):
    fd = os.open(d + '/s.pem', os.O_PATH)
    L.linkat(-100, b'/proc/self/fd/%d' % fd, -100, (d + '/n').encode(), 0x400)
    return rd(d + '/n')
def swap(d):
    os.mkdir(d + '/open'); L.renameat2(-100, (d + '/secrets').encode(), -100, (d + '/open').encode(), 2)
    return rd(d + '/open/x')
def run(*a, **k): return subprocess.run(a, capture_output=True, text=True, **k).stdout
def byfd(d):
    fd = os.open(d + '/e.pem', os.O_PATH); os.set_inheritable(fd, True)
    return run('python3', '-c', 'import os, sys; os.execve(int(sys.argv[1]), ["x"], {})', str(fd), pass_fds=[fd])
T = tempfile.mkdtemp(); atexit.register(shutil.rmtree, T)
W = {
 'relative': lambda d: rd(d + '/s.pem'),
 'absolute': lambda d: rd(os.path.abspath(d) + '/s.pem'),
 'dots': lambda d: rd(d + '/secrets/.././../' + d + '//s.pem'),
 'from a directory': lambda d: rd('s.pem', dir_fd=os.open(d, os.O_PATH)),
 'from a directory opened for reading': lambda d: rd('../s.pem', dir_fd=os.open(d + '/secrets', os.O_RDONLY)),
 'from the working directory': lambda d: cd(d, lambda: rd('s.pem')),
 'above the working directory': lambda d: cd(d + '/secrets', lambda: rd('../s.pem')),
 'a link': lambda d: (os.symlink('s.pem', d + '/l'), rd(d + '/l'))[1],
 'an absolute link': lambda d: (os.symlink(os.path.abspath(d) + '/s.pem', d + '/l'), rd(d + '/l'))[1],
 'a link on the way': lambda d: (os.symlink('.', d + '/l'), rd(d + '/l/l/s.pem'))[1],
 'a link through procfs': lambda d: (os.symlink('/proc/self/cwd/' + d + '/s.pem', T + '/ways'), rd(T + '/ways'))[1],
 'procfs cwd': lambda d: cd(d, lambda: rd('/proc/self/cwd/s.pem')),
 'procfs root': lambda d: rd('/proc/self/root' + os.path.abspath(d) + '/s.pem'),
 'procfs task': lambda d: cd(d, lambda: rd('/proc/self/task/%d/cwd/s.pem' % os.getpid())),
 'procfs number': lambda d: cd(d, lambda: rd('/proc/%d/cwd/s.pem' % os.getpid())),
 'a descriptor opened again': lambda d: held(d, '/proc/self/fd/%d'),
 'by /dev/fd': lambda d: held(d, '/dev/fd/%d'),
 'by thread-self': lambda d: held(d, '/proc/thread-self/fd/%d'),
 'a descriptor of another process': others,
 'for writing': lambda d: rd(d + '/s.pem', os.O_RDWR),
 'or created': lambda d: rd(d + '/s.pem', os.O_RDONLY | os.O_CREAT),
 'no links': lambda d: rd(d + '/s.pem', os.O_NOFOLLOW | os.O_NONBLOCK),
 'openat2': lambda d: openat2(d, 0, 0),
 'openat2 beneath': lambda d: openat2(d, 0, 8),
 'a second name': lambda d: (os.link(d + '/s.pem', d + '/n'), rd(d + '/n'))[1],
 'a second name by descriptor': linked,
 'renamed': lambda d: (os.rename(d + '/s.pem', d + '/n'), rd(d + '/n'))[1],
 'its directory renamed': lambda d: (os.rename(d + '/secrets', d + '/open'), rd(d + '/open/x'))[1],
 'its directory exchanged': swap,
 'its directory moved away': lambda d: (os.rename(d + '/hidden', d + '/open'), rd(d + '/open/f'))[1],
 'in a denied directory': lambda d: rd(d + '/hidden/f'),
 'from a denied directory': lambda d: cd(d + '/hidden', lambda: rd('f')),
 'listed': lambda d: str(os.listdir(d + '/hidden')),
 'a script': lambda d: run(d + '/e.pem'),
 'a script by descriptor': byfd,
 'the shell': lambda d: run('sh', '-c', 'exec < %s/s.pem; read x; echo $x' % d),
 'moved by copying': lambda d: (run('mv', d + '/s.pem', T + '/s'), rd(T + '/s'))[1],
 'another root': lambda d: jail(d, '.', '/s.pem'),
 'from below another root': lambda d: jail(d, '/usr', 's.pem'),
}
only = sys.argv[1:]
for name, f in W.items():
    d = 'w' + str(list(W).index(name))
    if only == ['make']:
        for sub in ('', '/secrets', '/hidden'): os.makedirs(d + sub, exist_ok=True)
        for at, text in (('/s.pem', 'SECRET'), ('/secrets/x', 'SECRET'), ('/hidden/f', 'SECRET'), ('/hidden/SECRET', ''), ('/e.pem', '#!/bin/cat\nSECRET')):
            open(d + at, 'w').write(text + '\n')
        os.chmod(d + '/e.pem', 0o755)
        continue
    try: print(name + ':', str(f(d)).strip().replace('\n', ' '))
    except OSError as e: print(name + ':', errno.errorcode[e.errno])
