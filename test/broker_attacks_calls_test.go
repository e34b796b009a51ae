//go:build linux

package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// TestB10WhatOutlivesItsOpener: what was looked at before it was trusted is put
// in place as a copy: neither a descriptor nor a mapping of the file that was
// looked at, nor another name of it, reaches what is there afterwards. And a
// mapping that outlives its opener is of a recorded path.
func TestB10WhatOutlivesItsOpener(t *testing.T) {
	hold(t, hostile{name: "a mapping in a child", want: "fine", body: `fd = os.open('file', os.O_RDWR); m = mmap.mmap(fd, 4); os.close(fd); a, b = socket.socketpair(); w = os.open('other', os.O_CREAT|os.O_WRONLY, 0o600)
if os.fork() == 0:
    time.sleep(0.3); m[0:3] = b'NEW'; os.write(w, b'late'); b.send(b'x'); os._exit(0)
a.recv(1); say('fine')`})
	eachPerson(t, func(t *testing.T, p person) {
		a := hostile{name: "a configuration that was looked at", body: `old = open('.git/config').read(); lock = '.git/config.lock'
with open(lock, 'w') as f: f.write(old + '[user]\n\tname = Ada\n' + '#' * 4096 + '\n')
fd = os.open(lock, os.O_RDWR); m = mmap.mmap(fd, 0); k = len(m) - 4000; os.link(lock, '.git/other')
say('renamed', t(os.rename, lock, '.git/config'))
evil = b'\n[core]\n\tfsmonitor = EVIL\n#'; m[k:k+len(evil)] = evil; m.flush(); os.lseek(fd, 0, 2); os.write(fd, evil)
t(lambda: open('.git/other', 'ab').write(evil)); t(os.truncate, '.git/other', 20000)
os.execlp('git', 'git', 'config', 'user.name')`}
		for _, walls := range []bool{false, true} {
			w := a.prepare(t, p)
			w.setenv("HARMLESS", "1")
			script := w.base + "/tool/attack.py"
			var r result
			if walls {
				r = w.run(slices.Concat(historyOn, []string{"--read", w.base + "/tool", "--", "python3", script})...)
			} else {
				r = w.plain("python3", script)
			}
			if evil := strings.Contains(w.read(w.project+"/.git/config"), "EVIL"); evil == walls || !strings.Contains(r.out, "renamed None") || walls && !strings.HasSuffix(r.out, "Ada\n") {
				t.Errorf("walls %v: %s\n%s", walls, r, cut(w.read(w.project+"/.git/config")))
			}
		}
	})
}

// TestB6CallsThatChange: what is carried out is what was decided, whoever
// changes a call's registers or texts on its way. TestBrokerRacesAreRecorded has
// threads that do so to themselves.
func TestB6CallsThatChange(t *testing.T) {
	t.Parallel()
	const tracer = `L.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]; regs = (ctypes.c_ulonglong * 27)()
def mkdir(): # another call, with a path below the stack
    at = (regs[19] - 4096) & ~7; evil = b'.devcontainer\0\0\0'
    for i in range(0, len(evil), 8): L.ptrace(5, pid, at + i, int.from_bytes(evil[i:i+8], 'little'))
    regs[15], regs[14], regs[13] = 83, at, 0o700; L.ptrace(13, pid, None, ctypes.byref(regs))
pid = os.fork()
if pid == 0: L.ptrace(0, 0, None, None); os.kill(os.getpid(), signal.SIGSTOP); traced(); os._exit(0)
os.waitpid(pid, 0); L.ptrace(0x4200, pid, None, 0x100080)
while True:
    L.ptrace(resume, pid, None, None); _, st = os.waitpid(pid, 0)
    if os.WIFEXITED(st) or os.WIFSIGNALED(st): break
    if L.ptrace(12, pid, None, ctypes.byref(regs)) == 0: stopped(st)
say('fine')`
	after := "ls -d .devcontainer 2>/dev/null | sed s/^/EVIL/"
	hold(t,
		hostile{name: "registers, as it enters the kernel", want: "fine", canary: true, after: after, body: `resume = 24; inside = False
def traced():
    for i in range(200): t(os.mkdir, 'p%d' % i); t(os.rmdir, 'p%d' % i)
def stopped(st):
    global inside
    inside = not inside
    if inside and regs[15] == 83: mkdir()
` + tracer},
		hostile{name: "its number, after a filter of its own", want: "fine", canary: true, after: after, body: `resume = 7
def traced():
    f = ctypes.create_string_buffer(struct.pack('<HBBIHBBIHBBIHBBI', 0x20, 0, 0, 0, 0x15, 0, 1, 110, 6, 0, 0, 0x7ff00000, 6, 0, 0, 0x7fff0000))
    L.prctl(38, 1, 0, 0, 0); sys_(317, 1, 0, ctypes.create_string_buffer(struct.pack('<H6xQ', 4, ctypes.addressof(f))))
    for i in range(20): os.getppid()
def stopped(st):
    if st >> 8 == signal.SIGTRAP | 7 << 8: mkdir()
` + tracer},
		hostile{name: "its text, by another process", want: "fine", canary: true, after: after, body: `m = mmap.mmap(-1, 4096); at = ctypes.addressof(ctypes.c_char.from_buffer(m)); m[:16] = b'p'.ljust(16, b'\0')
pid = os.fork()
if pid == 0:
    while True: sys_(83, ctypes.c_void_p(at), 0o700); sys_(84, b'p')
stop = time.time() + 2
while time.time() < stop and not os.path.exists('.devcontainer'):
    for s in (b'.devcontainer', b'p'): m[:16] = s.ljust(16, b'\0')
os.kill(pid, 9); os.waitpid(pid, 0)
say('fine')`})
}

// TestB13CallersThatDie: numbers of dead callers name nobody else's paths.
func TestB13CallersThatDie(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "callers killed while they are held", want: "fine", body: `for i in range(150):
    p = os.fork()
    if p == 0:
        while True: t(os.mkdir, 'k'); t(os.rmdir, 'k')
    time.sleep(0.002); os.kill(p, 9); os.waitpid(p, 0)
os.mkdir('last'); say('fine')`})
}

// TestB16UnreadableCallers: who is not dumpable is served all the same, also for
// what its descriptors mean, which procfs hides from an ordinary user.
func TestB16UnreadableCallers(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "not dumpable", want: "fine", after: "test -d by/undumpable && test -S by/sock && test -f by/moved && test -f by/second || echo EVIL", body: `L.prctl(4, 0, 0, 0, 0); os.mkdir('by'); d = os.open('by', os.O_RDONLY); p = os.open('by', os.O_PATH); f = os.open('file', os.O_RDONLY); s = socket.socket(socket.AF_UNIX)
r = {'mkdir': t(os.mkdir, 'undumpable', dir_fd=d), 'times': t(os.utime, f, (1, 1)), 'mode': t(os.fchmod, f, 0o640), 'attribute': t(os.setxattr, f, 'user.x', b'y'), 'bind': t(s.bind, 'by/sock'),
    'rename': t(os.rename, 'other', 'moved', dst_dir_fd=p) if not isinstance(t(lambda: open('other', 'x').close()), str) else 'other', 'link': t(os.link, '/proc/self/fd/%d' % f, 'second', dst_dir_fd=d, follow_symlinks=True),
    'again': t(lambda: os.close(os.open('/proc/self/fd/%d' % f, os.O_WRONLY))), 'below': t(lambda: open('/proc/self/fd/%d/new' % d, 'x').close()), 'file system': t(os.statvfs, f).f_flag & os.ST_RDONLY or None}
bad = {k: v for k, v in r.items() if v is not None}; say(bad or 'fine')`})
}

// TestB16HiddenPrograms: a program that may be executed and not read, of somebody
// else, cannot be looked at. Its changes fail, as on a read-only file system; what
// is none of the broker's works.
func TestB16HiddenPrograms(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("making files of somebody else takes root")
	}
	eachPerson(t, func(t *testing.T, p person) {
		a := hostile{body: `open('/tmp/f', 'x').close(); open('/dev/null', 'w').close(); os.mkdir('/tmp/d'); s = socket.socket(); s.bind(('127.0.0.1', 0))
try: open(sys.executable, 'rb'); say('OTHER: it can be read')
except PermissionError: pass
say(t(os.mkdir, 'made'), t(lambda: open('file', 'a')), t(os.unlink, 'file'), t(os.rename, 'file', 'made'), t(os.chmod, 'file', 0o777), t(os.chmod, '/tmp/f', 0o777), t(socket.socket(socket.AF_UNIX).bind, 'made'))`}
		w := a.prepare(t, p)
		python, err := filepath.EvalSymlinks(w.find("python3"))
		w.must(err)
		w.must(copyFile(python, w.base+"/tool/hidden", 0o711))
		w.must(os.Chown(w.base+"/tool/hidden", 4243, 4243))
		w.write(w.base+"/tool/attack.py", strings.Replace(attackPrelude, "if os.environ.get('CARREL') == '1':", "if 0:", 1)+a.body)
		before := w.lie(w.project)
		r := w.run(slices.Concat(historyOn, []string{"--network", "local", "--read", w.base + "/tool", "--", w.base + "/tool/hidden", w.base + "/tool/attack.py"})...)
		if r.code != 0 || r.out != strings.Repeat("EROFS ", 6)+"EROFS\n" {
			t.Errorf("want EROFS seven times: %s", r)
		}
		for _, p := range changes(before, w.lie(w.project)) {
			t.Errorf("changed: %q", p)
		}
	})
}

// TestB17Memory: a path that runs out of its memory is nobody's.
func TestB17Memory(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "paths", want: "fine", body: `m = mmap.mmap(-1, 8192); at = ctypes.addressof(ctypes.c_char.from_buffer(m)); L.munmap(ctypes.c_void_p(at + 4096), 4096)
def p(off): return ctypes.c_void_p(at + off)
m[4090:4096] = b'abcdef'; r = [sys_(83, p(4090), 0o700)]; m[4090:4096] = b'whole\0'; r += [sys_(83, p(4090), 0o700), sys_(83, ctypes.c_void_p(0), 0), sys_(83, ctypes.c_void_p(1), 0), sys_(83, ctypes.c_void_p(at + 4096), 0), sys_(83, ctypes.c_void_p(-1), 0)]
r += [sys_(83, b'a/' * 2047 + b'ab', 0), sys_(83, b'x' * 256, 0), sys_(83, b'', 0), sys_(83, b'y' * 100000, 0)]
say(r); say('fine' if r == ['EFAULT', 0, 'EFAULT', 'EFAULT', 'EFAULT', 'EFAULT', 'ENOENT', 'ENAMETOOLONG', 'ENOENT', 'ENAMETOOLONG'] or r[6] == 'ENAMETOOLONG' and r[:6] == ['EFAULT', 0] + ['EFAULT'] * 4 else 'OTHER')
os._exit(0)`, after: "test ! -e abcdef || echo EVIL"})
}

// TestB29FreshPrograms: a program that was just written can be started.
func TestB29FreshPrograms(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "write and start", want: "fine", body: `ok = True
for i in range(100):
    with open('prog', 'w') as f: f.write('#!/bin/sh\nexit 7\n'); os.fchmod(f.fileno(), 0o755)
    ok = ok and subprocess.call(['./prog']) == 7; os.unlink('prog')
say('fine' if ok else 'OTHER')`})
}

// TestB14LooksWritable: what programs ask before they write.
func TestB14LooksWritable(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "access and times", alone: true, want: "fine", body: `ok = os.access('file', os.W_OK) and not os.access('.vscode/tasks.json', os.W_OK)
fd = os.open('file', os.O_RDONLY); os.utime(fd, (1, 1)); os.fchmod(fd, 0o640); ok = ok and os.stat('file').st_mtime == 1; say('fine' if ok else 'OTHER')`},
		hostile{name: "file systems", want: "in the project []\nelsewhere []", body: `os.mkdir('gone'); gone = os.open('gone', os.O_RDONLY); os.chdir('gone'); os.rmdir('../gone'); here = os.open('..', os.O_PATH)
ro = lambda what, *a: t(os.statvfs, *a).f_flag & os.ST_RDONLY and what
up = os.path.dirname(os.readlink('/proc/self/fd/%d' % here) + '/x')
say('in the project', [x for x in (ro('path', up), ro('file', up + '/file'), ro('link', '/proc/self/fd/%d' % here), ro('directory', os.open(up, os.O_RDONLY)), ro('path only', here),
    ro('for reading', os.open(up + '/file', os.O_RDONLY)), ro('for writing', os.open(up + '/file', os.O_RDWR)), ro('new', os.open(up + '/new', os.O_CREAT|os.O_RDONLY)), ro('removed', gone), ro('removed, here', '.')) if x])
say('elsewhere', [p for p in ('/usr', os.path.dirname(sys.argv[0]), up + '/.vscode') if not ro(p, p) or not ro(p, os.open(p, os.O_RDONLY))])`})
}

// TestB20Signals: nothing happens twice. (Kernels before 5.19 have no broker.)
func TestB20Signals(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "storm", want: "fine", body: `signal.signal(signal.SIGALRM, lambda *a: None); signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003); bad = []
for i in range(1000):
    while True:
        try: os.close(os.open('s%d' % i, os.O_CREAT|os.O_EXCL)); break
        except InterruptedError: continue
        except OSError as e: bad.append(e.errno); break
signal.setitimer(signal.ITIMER_REAL, 0); say(bad[:3] or 'fine')`})
}

// TestB20Interrupted: EINTR means that nothing was done, and nobody sees one who
// asked for calls to go on after a signal.
func TestB20Interrupted(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "EINTR", want: "fine", never: "OTHER", body: `signal.signal(signal.SIGALRM, lambda *a: None); signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002); seen = done = again = 0
for i in range(3000):
    try: os.mkdir('i%d' % i)
    except InterruptedError: seen += 1; done += os.path.lexists('i%d' % i)
signal.siginterrupt(signal.SIGALRM, False)
for i in range(3000):
    try: os.mkdir('j%d' % i)
    except InterruptedError: again += 1
signal.setitimer(signal.ITIMER_REAL, 0); say('OTHER %d done, %d of %d though restarted' % (done, again, seen) if done or again else 'fine')`})
}

// TestB21StoppedCallers: a caller that is stopped while it is held goes on
// afterwards, with its call done once. A frozen control group cannot be shown
// here: supervisor's own tests have one of version 2.
func TestB21StoppedCallers(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "stop and go", want: "fine", body: `p = os.fork()
if p == 0:
    for i in range(2000): os.close(os.open('q%d' % i, os.O_CREAT|os.O_EXCL))
    os._exit(3)
for i in range(200): t(os.kill, p, signal.SIGSTOP); time.sleep(0.0005); t(os.kill, p, signal.SIGCONT); time.sleep(0.0005)
say('fine' if os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]) == 3 else 'OTHER')`})
}

// TestB22FullTables: no content is lost where no descriptor can be given.
func TestB22FullTables(t *testing.T) {
	hold(t, hostile{name: "no room", want: "EMFILE EMFILE", after: "grep -q one file && test ! -e new || echo EVIL", body: `resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
try:
    while True: os.dup(0)
except OSError: pass
say(t(os.open, 'file', os.O_WRONLY|os.O_TRUNC), t(os.open, 'new', os.O_WRONLY|os.O_CREAT)); os._exit(0)`})
}

// TestB23Floods: many threads and processes starve nobody. That the record has
// a budget is for the history.
func TestB23Floods(t *testing.T) {
	hold(t, hostile{name: "threads", want: "fine", limit: 60e9, body: `threading.stack_size(65536); sys.setswitchinterval(1); go = threading.Event(); n = 0; done = []
def f(i):
    go.wait()
    t(os.mkdir, 'x%d' % i); t(os.rmdir, 'x%d' % i); done.append(i)
for i in range(10000):
    try: threading.Thread(target=f, args=(i,), daemon=True).start(); n += 1
    except RuntimeError: break
p = subprocess.Popen(['python3', '-c', 'import os,time\nw=0\nfor i in range(50):\n s=time.time(); os.mkdir("v%d" % i); w=max(w,time.time()-s); time.sleep(.01)\nprint("SLOW" if w > 5 else "quick", w)'])
go.set(); p.wait()
while len(done) < n: time.sleep(0.05)
say('fine', n); os._exit(0)`},
		hostile{name: "forks", limit: 60e9, flags: []string{"--pids", "200"}, never: "SLOW", want: "fine", body: `ps = []
try:
    while len(ps) < 300:
        p = os.fork()
        if p == 0:
            for i in range(50): t(os.mkdir, 'f%d' % os.getpid()); t(os.rmdir, 'f%d' % os.getpid())
            os._exit(0)
        ps.append(p)
except OSError: pass
s = time.time(); os.mkdir('mine'); say('SLOW' if time.time() - s > 5 else 'fine', len(ps)); [os.waitpid(p, 0) for p in ps]`})
}

// TestB24SecondListeners: refused, as is what would go around the filter.
func TestB24SecondListeners(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "a second listener", canary: true, want: "EBUSY", never: "EVIL", body: `L.prctl(38, 1, 0, 0, 0); f = ctypes.create_string_buffer(struct.pack('<HBBI', 6, 0, 0, 0x7fff0000)); p = ctypes.create_string_buffer(struct.pack('<H6xQ', 1, ctypes.addressof(f)))
r = [sys_(317, 1, 8, p), sys_(425, 8, p), sys_(323, 0)]; say(r, *['EVIL' for x in r if isinstance(x, int)]); os.mkdir('still')`})
}

// TestB26HostSockets: a socket of the host in the project, there at the start,
// can be neither reached nor replaced.
func TestB26HostSockets(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		a := hostile{name: "a listener", want: "fine", never: "REACHED", after: "test -S host.sock && test ! -e x && test ! -e y || echo EVIL", body: `s = socket.socket(socket.AF_UNIX)
say('REACHED' if t(s.connect, 'host.sock') is None else 'fine'); say(t(os.link, 'host.sock', 'y'), t(os.rename, 'host.sock', 'x'), t(os.unlink, 'host.sock'))
for n in ('host.sock', 'x', 'y'):
    s = socket.socket(socket.AF_UNIX)
    if t(s.connect, n) is None: say('REACHED')`}
		w := a.prepare(t, p)
		l, err := net.Listen("unix", w.project+"/host.sock")
		w.must(err)
		defer l.Close()
		w.own(w.project + "/host.sock")
		if out := w.outsideSh(`python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("host.sock"); print("REACHED")'`); out != "REACHED\n" {
			t.Fatalf("it cannot be reached from outside either: %s", out)
		}
		a.run(t, w, "--deny", "keys")
	})
}

// TestB27NamesWithoutCase: where names differ in their case only, they are
// other files, and may be made. A file system that folds case cannot be
// mounted by everybody: workspace's own tests know what is decided there.
func TestB27NamesWithoutCase(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "other letters", alone: true, after: "grep -q EVIL .git/config .vscode/tasks.json && echo EVIL; true", body: `for n in ('.GIT/config', '.Git/hooks/x', '.VSCODE/tasks.json', '.vscode\u200c/tasks.json'): t(os.makedirs, os.path.dirname(n)); t(lambda: open(n, 'w').write('EVIL'))
fd = t(os.open, 'fold', os.O_RDONLY) if t(os.mkdir, 'fold') is None else -1
say(t(fcntl.ioctl, fd, 0x40086602, struct.pack('l', 0x40000000)))`})
}

// TestB5SocketsUnderSwitchedNames: bind goes where it was decided.
func TestB5SocketsUnderSwitchedNames(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "a switched socket name", want: "fine", canary: true, after: "ls out/ | grep -E '^s[0-9]' | sed s/^/EVIL/ | head -3", body: `os.mkdir('a'); stop = time.time() + 2
flip = subprocess.Popen(['python3', '-c', 'import os,time\nwhile time.time() < %f:\n  os.rename("a", "b"); os.symlink("out", "a"); os.unlink("a"); os.rename("b", "a")' % stop])
i = 0
while time.time() < stop: s = socket.socket(socket.AF_UNIX); t(s.bind, 'a/s%d' % i); s.close(); i += 1
flip.wait(); say('fine')`})
}

// TestNewerOpensAreTheKernels: what the broker does not know is continued, and what
// keeps it from changing anything is native.
func TestNewerOpensAreTheKernels(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "a longer form", alone: true, want: "held held held", body: `def o(path, flags): return sys_(437, -100, path, ctypes.create_string_buffer(struct.pack('<QQQQ', flags, 0o600 if flags & os.O_CREAT else 0, 0, 0)), 32)
r = [o(b'file', os.O_WRONLY), o(b'.vscode/tasks.json', os.O_RDWR), o(b'born', os.O_WRONLY | os.O_CREAT)]; say(*['held' if x in ('EACCES', 'EROFS', 'ENOSYS') else x for x in r])`})
}
