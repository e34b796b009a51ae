//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// denyReads are globs that the broker decides at each open.
var denyReads = []string{"--deny", "**/*.pem", "--deny", "**/secrets/*", "--deny", "**/hidden"}

// readWays is a program that tries, in a directory for each, every way to get
// at a file by another name or another call.
const readWays = `
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
`

// TestDeniedReads: what a glob denies cannot be read under any name, by any
// call; and each way works where nothing is denied.
func TestDeniedReads(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		free, w := newWorld(t, p), newWorld(t, p)
		for _, each := range []*world{free, w} {
			each.need("python3")
			each.write(each.project+"/ways.py", readWays)
			each.outsideSh("python3 ways.py make")
		}
		for line := range strings.Lines(free.plain("python3", "ways.py").out) {
			if !strings.Contains(line, "SECRET") {
				t.Errorf("without walls this way does not work either: %s", line)
			}
		}
		r := w.run(append(denyReads, "--", "python3", "ways.py")...)
		if strings.Contains(r.out, "SECRET") || !strings.Contains(r.out, "relative: EACCES") || !strings.Contains(r.out, "a script: EACCES") || strings.Count(r.out, "\n") < 35 {
			t.Errorf("want EACCES and no SECRET: %s", r)
		}
		for _, want := range []string{"denied: read of ", "s.pem\" was refused: denied: ", "**/*.pem", "e.pem\" was refused: denied: ", "below what is moved"} {
			if !strings.Contains(r.err, want) {
				t.Errorf("no denial says %q: %s", want, r)
			}
		}
		// One step of a mount namespace further, mounts have to hold it.
		r = w.run(append(denyReads, "--nested", "full", "--", "sh", "-c", `python3 ways.py; unshare -Urm sh -c 'mkdir /tmp/m; mount --rbind / /tmp/m && echo mounted; cat /tmp/m"$PWD"/w0/s.pem w0/s.pem; umount -l w0/s.pem; cat w0/s.pem'`)...)
		if strings.Contains(r.out, "SECRET") || p.uid != 0 && !strings.Contains(r.out, "mounted") {
			t.Errorf("at level full: %s", r)
		}
	})
}

// TestDeniedReadsRace: a path that changes under the call gives nothing either,
// whatever it said first.
func TestDeniedReadsRace(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("python3")
		w.write(w.project+"/s.pem", "SECRET\n")
		w.outsideSh("echo fine > ok; mkfifo fifo; ln -s ok l; mkdir secrets; echo SECRET > secrets/x; mkdir free; echo fine > free/x")
		w.write(w.project+"/race.py", `
import os, ctypes, threading, time, struct
L = ctypes.CDLL(None, use_errno=True); stop = False; seen = 0
def flip(buf, texts):
    while not stop:
        for t in texts: ctypes.memmove(buf, t, len(t))
def race(texts, call):
    global stop, seen
    stop = False; size = max(len(t) for t in texts); texts = [t + b'\0' * (size - len(t)) for t in texts]
    buf = ctypes.create_string_buffer(texts[0], size + 1)
    th = threading.Thread(target=flip, args=(buf, texts), daemon=True); th.start()
    end = time.time() + 0.4
    while time.time() < end:
        fd = call(buf)
        if fd >= 0:
            seen += 1
            try:
                if b'SECRET' in os.read(fd, 100): print('SECRET', texts)
            except OSError: pass
            os.close(fd)
    stop = True; th.join()
for other in (b'/usr/bin/env', b'/dev/null', b'/proc/self/status', b'/dev/tty', b'ok', b'/tmp', b'nothing', b'l'):
    race([other, b's.pem'], lambda b: L.open(b, os.O_RDONLY | os.O_NONBLOCK))
for flags in (os.O_CREAT, os.O_CREAT | os.O_EXCL, os.O_NOFOLLOW, os.O_RDWR, os.O_NONBLOCK):
    race([b'/tmp/made', b's.pem'], lambda b: L.open(b, flags, 0o600))
race([struct.pack('QQQ', os.O_PATH, 0, 0), struct.pack('QQQ', os.O_RDONLY, 0, 0)], lambda b: L.syscall(437, -100, b's.pem', b, 24))
def links():
    i = 0
    while not stop:
        i += 1
        try: os.symlink(('ok', 's.pem')[i % 2], 'n%d' % i); os.rename('n%d' % i, 'l')
        except OSError: pass
stop = False; th = threading.Thread(target=links, daemon=True); th.start()
for _ in range(3000):
    try:
        if 'SECRET' in open('l').read(): print('SECRET by link')
    except OSError: pass
stop = True; th.join()
print('seen', seen > 1000)
`)
		r := w.run(append(denyReads, "--", "python3", "race.py")...)
		if strings.Contains(r.out, "SECRET") || !strings.Contains(r.out, "seen True") {
			t.Errorf("a race was won, or not run: %s", r)
		}
	})
}

// TestReadsAsWithoutGlobs: programs see the same whether opens for reading are
// trapped or not.
func TestReadsAsWithoutGlobs(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("python3", "flock", "script")
		w.outsideSh("echo fine > f; mkdir -p d/e; echo x > d/e/x; ln -s f l; ln -s nowhere dangling; ln -s loop loop; mkfifo fifo a b; printf '#!/bin/sh\necho ran $0\n' > s; chmod +x s; echo no > unreadable; chmod 0 unreadable")
		w.write(w.project+"/same.py", sameReads)
		plain := w.run("--", "python3", "same.py")
		w.outsideSh("echo x > d/e/x; rm -f lockfile")
		trapped := w.run("--deny", "**/*.pem", "--", "python3", "same.py")
		if plain.code != 0 || strings.Count(plain.out, "\n") < 60 {
			t.Fatalf("the program does not work natively: %s", plain)
		}
		if plain.out != trapped.out || plain.code != trapped.code {
			a, b := strings.Split(plain.out, "\n"), strings.Split(trapped.out, "\n")
			for i := range min(len(a), len(b)) {
				if a[i] != b[i] {
					t.Errorf("natively %s\n trapped %s", a[i], b[i])
				}
			}
			t.Errorf("%d lines and %d: %s", len(a), len(b), trapped.err)
		}
	})
}

const sameReads = `
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
`

// TestDeniedReadsAreNotLookedFor: the start walks no tree for globs that the
// broker holds, and a name that is made outside while a command runs is denied
// as well. Without the broker, what was there is a mask.
func TestDeniedReadsAreNotLookedFor(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.outsideSh("mkdir d; echo SECRET > d/a.pem; mkdir shut; chmod 0 shut")
		for history, want := range map[string]bool{"on": false, "off": true} {
			r := w.carrel("explain", "--plan", "--history", history, "--deny", "**/*.pem")
			if r.code != 0 || strings.Contains(r.out, "a.pem") != want {
				t.Errorf("--history %s: a mask in the plan: want %v: %s", history, want, r)
			}
		}
		done := make(chan result)
		go func() {
			done <- w.run("--deny", "**/*.pem", "--write", "shut", "--", "sh", "-c", "touch ready; until test -e d/late.pem; do sleep 0.02; done; cat d/late.pem d/a.pem; chmod 700 shut; ls shut; echo $?")
		}()
		eventually(t, "the command to run", func() bool { return exists(w.project + "/ready") })
		w.must(os.WriteFile(w.project+"/d/.late", []byte("SECRET\n"), 0o644))
		w.must(os.Rename(w.project+"/d/.late", w.project+"/d/late.pem"))
		select {
		case r := <-done:
			if strings.Contains(r.out, "SECRET") || !strings.Contains(r.out, "0\n") || strings.Count(r.err, "denied: read of") != 2 {
				t.Errorf("a name that was made later: %s", r)
			}
		case <-time.After(20 * time.Second):
			t.Error("the command does not end")
		}
	})
}

// TestEnvironmentFilesAreMaskedAgain: what an editor outside saves by renaming
// is hidden as the file before it was, and so is one that it makes; what a
// command makes is its own.
func TestEnvironmentFilesAreMaskedAgain(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		for _, history := range []string{"on", "off"} {
			w := newWorld(t, p)
			w.need("python3")
			w.write(w.project+"/.env", "SECRET first\n")
			w.write(w.project+"/.env.shown", "shown\n")
			done := make(chan result)
			go func() {
				done <- w.run("--history", history, "--read", w.project+"/.env.shown", "--", "bash", "-c", `exec 2>&1; cat .env; echo mine | tee .env.mine > .env.taken; touch ready; until test -e go; do sleep 0.02; done
					for f in .env .env.local; do cat $f; (exec 3<>$f; cat <&3); ln $f n; cat n; mv $f n2; cat n2; (exec 3<>n2; cat <&3); echo EVIL > $f; rm -f $f; done
					cat .env.taken; cat .env.shown .env.mine; echo more > .env.mine2; sleep 0.3; cat .env.mine2; echo end`)
			}()
			save := func(name, content string) {
				w.must(os.WriteFile(w.project+"/.saving", []byte(content), 0o644))
				w.must(os.Chown(w.project+"/.saving", p.uid, p.gid))
				w.must(os.Rename(w.project+"/.saving", w.project+"/"+name))
			}
			eventually(t, "the command to run", func() bool { return exists(w.project + "/ready") })
			for range 20 {
				save(".env", "SECRET again\n")
			}
			if history == "on" {
				save(".env.local", "SECRET new\n")
				save(".env.taken", "SECRET taken\n")
			}
			time.Sleep(1500 * time.Millisecond) // hidden within milliseconds on a quiet machine; nobody can see when
			save("go", "")
			r := <-done
			if strings.Contains(r.out, "SECRET") || !strings.Contains(r.out, "shown\nmine\nmore\nend") || strings.Contains(r.err, "was replaced outside") {
				t.Errorf("--history %s: %s", history, r)
			}
			if got := w.read(w.project + "/.env"); got != "SECRET again\n" {
				t.Errorf("--history %s: .env is now %q", history, got)
			}
			if history == "on" && w.read(w.project+"/.env.local") != "SECRET new\n" {
				t.Error(".env.local was changed inside")
			}
		}
	})
}

// TestDeniedReadsHostFacts: a file of procfs that shows the namespaces of who
// opens it does not show the host's because somebody outside opens.
func TestDeniedReadsHostFacts(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		const size = 7_654_321
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, size, unix.IPC_CREAT|0o644)
		w.must(err)
		defer unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		w.outsideSh("grep -q 7654321 /proc/sysvipc/shm")
		look := `cat /proc/sysvipc/shm; cd /proc/sys; cat /proc/self/root/proc/sysvipc/shm; for d in /proc/sys/net/ipv4/conf net/ipv4/conf; do ls $d | grep -vx -e all -e default -e lo; done; cat /proc/net/dev; cat /proc/sys/kernel/osrelease && echo read`
		for _, flags := range [][]string{nil, denyReads} {
			r := w.run(append(flags, "--", "sh", "-c", look)...)
			if strings.Contains(r.out, "7654321") || !strings.Contains(r.out, "lo:") || strings.Count(r.out, "\n") > 8 || !strings.HasSuffix(r.out, "read\n") {
				t.Errorf("%q: %s", flags, r)
			}
		}
	})
}
