import os, sys, errno, fcntl, threading, time, signal, subprocess, stat, resource, tempfile, select, mmap, ctypes
L = ctypes.CDLL(None, use_errno=True)
def show(name, f):
    try: out = f()
    except OSError as e: out = errno.errorcode[e.errno]
    except Exception as e: out = repr(e)
    print(name + ':', out); sys.stdout.flush()
def fl(p, flags):
    fd = os.open(p, flags, 0o644)
    try: return oct(fcntl.fcntl(fd, fcntl.F_GETFL)), fcntl.fcntl(fd, fcntl.F_GETFD), os.fstat(fd).st_ino == os.stat(p).st_ino, oct(os.fstat(fd).st_mode)
    finally: os.close(fd)
R = os.O_RDONLY
for p in ('f', 'd', 'l', 'dangling', 'loop', 'nothing', 'nothing/x', 'f/x', 'f/', 'd/', 'l/', 'd/e/..', 'd/e/../../f', '', '.', '..', 'unreadable', 's', '/', '/tmp', '/usr/bin/env', '/lib', '/dev/null', '/dev/zero', '/dev/tty', '/proc', '/proc/self', '/proc/self/fd', '/proc/self/status', '/proc/mounts', '/proc/net/dev', '/proc/self/nothing', '/proc/99999999', '/proc/self/ns/net', '/proc/1/environ', '/proc/1/maps', '/proc/1/root', '/proc/1/fd', '/proc/1/cwd/f', '/proc/1/status', 'x' * 300, 'd/' * 2040 + 'f', 'd/' * 3000):
    for flags in (R, R | os.O_DIRECTORY, R | os.O_NOFOLLOW, R | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY, R | os.O_DIRECTORY | os.O_NOFOLLOW):
        show('open %.40r %o' % (p, flags), lambda: fl(p, flags))
for p in ('f', 'd', 'd/', 'l', 'loop', 'nothing/x', '/tmp/new/', '/dev/null'):
    show('create %r' % p, lambda: fl(p, R | os.O_CREAT))
for at in ('', '/tmp/'):
    os.umask(0o027)
    show('made', lambda: fl(at + 'made', R | os.O_CREAT)); show('mode', lambda: oct(os.stat(at + 'made').st_mode))
    show('made again', lambda: fl(at + 'made', R | os.O_CREAT | os.O_EXCL)); show('unmade', lambda: os.unlink(at + 'made'))
    os.symlink('target', at + 'dang'); show('through', lambda: fl(at + 'dang', R | os.O_CREAT)); show('there', lambda: os.path.exists(at + 'target'))
    show('gone', lambda: (os.unlink(at + 'dang'), os.unlink(at + 'target')))
def efault():
    r = L.open(ctypes.c_void_p(8), 0); return r, ctypes.get_errno()
show('fault', efault)
show('bad directory', lambda: os.open('f', R, dir_fd=777))
show('file as directory', lambda: os.open('f', R, dir_fd=os.open('f', R)))
show('absolute, bad directory', lambda: os.close(os.open('/usr', R, dir_fd=777)))
def full():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE); resource.setrlimit(resource.RLIMIT_NOFILE, (20, hard)); held = []
    try:
        while True: held.append(os.open('f', R))
    except OSError as e: return errno.errorcode[e.errno], len(held), max(held)
    finally: [os.close(h) for h in held]; resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
show('full', full)
def gone():
    fd = os.open('d/e/x', R); os.unlink('d/e/x'); g = os.open('/proc/self/fd/%d' % fd, R); return os.read(g, 9)
show('opened again after its end', gone)
def cwdgone():
    os.mkdir('here'); pid = os.fork()
    if pid == 0:
        os.chdir('here'); os.rmdir('../here')
        for p in ('.', '..', 'x', '/'): show('in a removed directory ' + p, lambda: os.close(os.open(p, R)))
        os._exit(0)
    os.waitpid(pid, 0)
cwdgone()
def inproc():
    pid = os.fork()
    if pid == 0:
        os.chdir('/proc'); show('self from /proc', lambda: open('self/status').readline()); os.chdir('self'); show('in self', lambda: open('status').readline()); show('up', lambda: 'cpuinfo' in os.listdir('..'))
        os._exit(0)
    os.waitpid(pid, 0)
inproc()
show('maps', lambda: '[stack]' in open('/proc/self/maps').read())
show('memory', lambda: len(open('/proc/self/auxv', 'rb').read()) > 100)
show('environ', lambda: b'PATH=' in open('/proc/self/environ', 'rb').read())
show('own number', lambda: open('/proc/self/stat').read().split()[0] == str(os.getpid()))
show('thread', lambda: open('/proc/thread-self/comm').read())
show('exe', lambda: open('/proc/self/exe', 'rb').read(4))
show('mounts', lambda: len(open('/proc/mounts').read()) > 100)
r, w = os.pipe(); os.write(w, b'data')
show('a pipe again', lambda: os.read(os.open('/proc/self/fd/%d' % r, R), 9))
m = os.memfd_create('m'); os.write(m, b'mem')
show('a memory file', lambda: os.read(os.open('/dev/fd/%d' % m, R), 9))
show('a socket', lambda: os.open('/proc/self/fd/%d' % __import__('socket').socket().fileno(), R))
show('an event', lambda: os.open('/proc/self/fd/%d' % select.epoll().fileno(), R))
fd = os.open('f', R); show('mapped', lambda: mmap.mmap(fd, 4, prot=mmap.PROT_READ)[:4]); show('locked', lambda: (fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB), fcntl.flock(os.open('f', R), fcntl.LOCK_EX | fcntl.LOCK_NB)))
os.close(fd)
show('flock', lambda: subprocess.run(['flock', 'lockfile', 'echo', 'locked'], capture_output=True, text=True).stdout)
show('script', lambda: subprocess.run(['./s'], capture_output=True, text=True).stdout)
def fifo():
    said = []
    def writer():
        time.sleep(0.2); said.append('w'); a = os.open('a', os.O_WRONLY); b = os.open('b', os.O_RDONLY); os.write(a, b'1'); said.append(os.read(b, 9)); os.close(a); os.close(b)
    th = threading.Thread(target=writer); th.start()
    a = os.open('a', R); said.append('r'); b = os.open('b', os.O_WRONLY); os.write(b, b'2'); th.join(); said.append(os.read(a, 9)); said.append(os.read(a, 9)); os.close(a); os.close(b)
    return sorted(map(str, said))
show('fifos', fifo)
show('fifo at once', lambda: (lambda fd: (os.read(fd, 9), oct(fcntl.fcntl(fd, fcntl.F_GETFL)), os.close(fd)))(os.open('fifo', R | os.O_NONBLOCK)))
show('fifo in the shell', lambda: subprocess.run(['sh', '-c', 'for i in 1 2 3; do echo $i > fifo & cat fifo; wait; done'], capture_output=True, text=True).stdout)
show('fifo gone', lambda: subprocess.run(['timeout', '-s', 'TERM', '0.3', 'cat', 'fifo']).returncode)
class Alarm(Exception): pass
def alarmed():
    def ring(*a): raise Alarm()
    signal.signal(signal.SIGALRM, ring); signal.setitimer(signal.ITIMER_REAL, 0.2)
    try: os.open('fifo', R)
    except Alarm: return 'alarm'
show('fifo and a signal', alarmed)
signal.signal(signal.SIGIO, signal.SIG_IGN)
show('a terminal inside', lambda: subprocess.run(['script', '-qec', 'sh -c "exec 3< /dev/tty && test -t 3 && echo terminal; stty size < /dev/tty"', '/dev/null'], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout)
threads = [threading.Thread(target=lambda: [open('f').read() for _ in range(50)]) for _ in range(8)]; [x.start() for x in threads]; [x.join() for x in threads]
def ns():
    pid = os.fork()
    if pid == 0:
        L.unshare(0x10000000); os.chroot('d'); os.chdir('/')
        for p in ('/e', '/../../f', 'e/../..', '/usr'): show('in another root ' + p, lambda: sorted(os.listdir(p)))
        os._exit(0)
    os.waitpid(pid, 0)
ns()
