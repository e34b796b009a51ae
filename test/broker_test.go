//go:build linux

package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// brokerAttack is one known way to get past a broker, or to stop it. The
// project is a git repository with protected names and secrets.
type brokerAttack struct {
	name   string
	hole   string // which of the known holes, for the reader
	needs  []string
	root   bool // only root can set it up
	setup  string
	flags  []string
	script string // inside; what it prints must not hold SECRET
	said   string // has to be in what it prints
	after  string // outside at the end; must not print EVIL
	left   string // has to be in what after prints
	canary bool   // without walls it succeeds, or the attack is broken
}

// TestBrokerAttacks: no change of the workspace without the decision, none
// outside of it, and nobody stops it for others.
func TestBrokerAttacks(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		for _, a := range brokerAttacks {
			if a.root && p.uid != 0 {
				continue
			}
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				if a.canary {
					w := a.prepare(t, p)
					r := w.plain("bash", "-c", a.script)
					if out := r.out + w.outsideSh(a.after); !strings.Contains(out, "SECRET") && !strings.Contains(out, "EVIL") {
						t.Fatalf("the attack does not succeed without walls either: %s%s", r, out)
					}
				}
				a.attack(t, a.prepare(t, p))
			})
		}
	})
}

func (a brokerAttack) prepare(t *testing.T, p person) *world {
	w := newWorld(t, p)
	w.need(append([]string{"python3"}, a.needs...)...)
	w.repository()
	w.must(copyFile(difftool(t), w.project+"/difftool", 0o755))
	w.outsideSh("mkdir .vscode keys; echo kept > .vscode/tasks.json; echo SECRET > .env; echo SECRET > keys/k; echo SECRET > " + w.outside + "/s; ln -s " + w.outside + " out;" + a.setup)
	return w
}

func (a brokerAttack) attack(t *testing.T, w *world) {
	start := time.Now()
	r := w.run(slices.Concat(historyOn, []string{"--deny", "keys"}, a.flags, []string{"--", "bash", "-c", a.script})...)
	if time.Since(start) > 25*time.Second {
		t.Errorf("took %v", time.Since(start))
	}
	if strings.Contains(r.out, "SECRET") || !strings.Contains(r.out, a.said) || r.code > 128 {
		t.Errorf("%s (%s): want %q in what it says, and no secret: %s", a.name, a.hole, a.said, r)
	}
	out := w.outsideSh(a.after + "; cat .vscode/tasks.json .git/config .git/hooks/* " + w.outside + "/* | grep -E 'EVIL|kept'; ls -A " + w.outside)
	if strings.Contains(out, "EVIL") || !strings.Contains(out, a.left) || !strings.Contains(out, "kept") {
		t.Errorf("%s (%s): want %q and no EVIL in\n%sinside: %s", a.name, a.hole, a.left, cut(out), r)
	}
	if got := w.outsideSh("cat .env keys/k"); got != "SECRET\nSECRET\n" {
		t.Errorf("secrets are now %q", got)
	}
}

// python runs a program of several lines.
func python(lines string) string {
	return "python3 - <<'E'\nimport os, sys, ctypes, fcntl, time, threading, subprocess, signal, stat, errno, struct\nL = ctypes.CDLL(None, use_errno=True)\ndef t(f, *a, **k):\n    try: return f(*a, **k)\n    except OSError as e: return errno.errorcode[e.errno]\n" + lines + "\nE\n"
}

var brokerAttacks = []brokerAttack{
	{name: "masked files through the hands", hole: "B1", canary: true, after: "cat r l1 l2",
		script: "exec 2>&1; (exec 3<>.env; cat <&3); ln .env l1; cat l1; ln keys/k l2; cat l2; echo EVIL > n; mv -f n .env; cat .env; cp .env r" + "\n" +
			python("for f in ('.env', 'keys/k'):\n    for fl in (os.O_RDWR, os.O_RDWR|os.O_CREAT, os.O_RDONLY|os.O_CREAT, os.O_WRONLY|os.O_TRUNC, os.O_RDONLY|os.O_TRUNC):\n        fd = t(os.open, f, fl)\n        if isinstance(fd, int): print(t(os.read, fd, 100)); os.close(fd)\nL.renameat2(-100, b'.env', -100, b'x', 2); L.renameat2(-100, b'keys', -100, b'hidden', 0); print(os.path.exists('hidden/k') and open('hidden/k').read())")},
	{name: "a read-only descriptor made writable", hole: "B2", canary: true, after: "cat .vscode/tasks.json .git/config .git/hooks/pre-commit.sample",
		script: python(`for p in ('.vscode/tasks.json', '.git/config', '.git/hooks/pre-commit.sample'):
    for fl in (os.O_RDONLY, os.O_RDONLY|os.O_CREAT, os.O_RDONLY|os.O_NOATIME, os.O_PATH):
        fd = t(os.open, p, fl)
        if not isinstance(fd, int): continue
        for how in ('/proc/self/fd/%d', '/proc/thread-self/fd/%d', '/dev/fd/%d'):
            g = t(os.open, how % fd, os.O_WRONLY|os.O_APPEND)
            if isinstance(g, int): t(os.write, g, b'# EVIL\n')
        `)},
	{name: "descriptors of somebody else", hole: "B4", after: "true", said: "0 1 2 3\nnone",
		script: "echo $(ls /proc/self/fd); " + python(`bad = []
for pid in os.listdir('/proc'):
    if pid.isdigit():
        try: names = os.listdir('/proc/%s/fd' % pid)
        except OSError: continue
        for n in names:
            try:
                if os.path.isdir('/proc/%s/fd/%s' % (pid, n)): bad.append((pid, n, os.readlink('/proc/%s/fd/%s' % (pid, n))))
            except OSError: pass
print(bad or 'none')`)},
	{name: "up from a granted directory", hole: "B5", canary: true, after: "true",
		script: python(`for p in ('.', 'd', '.vscode'):
    t(os.mkdir, 'd')
    for fl in (os.O_RDONLY, os.O_RDONLY|os.O_CREAT, os.O_RDWR|os.O_DIRECTORY, os.O_PATH, os.O_TMPFILE|os.O_RDWR):
        fd = t(os.open, p, fl)
        if not isinstance(fd, int): continue
        for up in ('..', '../..', '../../..', '../../../..', '../../../../..'):
            g = t(os.open, up + '/outside/s', os.O_RDWR|os.O_CREAT, dir_fd=fd)
            if isinstance(g, int): print(os.read(g, 9))`)},
	{name: "files of somebody else as root", hole: "B7", root: true, setup: "echo kept > o; chmod 600 o; chown 4242:4242 o; mkdir od; echo kept > od/f; chmod 700 od; chown 4242:4242 od", after: "cat o od/*; stat -c 'EVIL mode %a' o | grep -v 600; true", canary: true,
		script: "echo EVIL >> o; echo EVIL > od/g; chmod 4755 o; rm -f od/f; chown 0 o; truncate -s 0 o; true"},
	{name: "set-user-id files, capabilities and devices", hole: "B8", canary: true, after: `find . -perm /6000 -type f -printf 'EVIL %p\n'; find . -type b -o -type c | sed 's/^/EVIL /'; getcap -r . 2>/dev/null | sed s/^/EVIL/; stat -c '%A' g`, left: "drwxr-sr-x",
		script: "cp /bin/true a; chmod 4755 a; chmod 2755 a; install -m 6755 /bin/true b; mkdir g; chmod 2755 g; (umask 0; mknod x b 7 0; mknod y c 5 1) 2>/dev/null; " +
			python(`print(t(os.setxattr, 'a', 'security.capability', struct.pack('<IIIII', 0x02000001, 0xffffffff, 0, 0, 0)))
fd = os.open('c', os.O_CREAT|os.O_RDWR, 0o4777); print(t(os.fchmod, fd, 0o4777)); t(os.open, 'e', os.O_CREAT|os.O_WRONLY, 0o6755)
print(L.fchmodat(-100, b'c', 0o2755, 0), t(os.mknod, 'm', stat.S_IFREG|0o4755))`)},
	{name: "waiting opens", hole: "B9", said: "fine", left: "y1", after: "ls",
		script: "mkfifo p; for i in $(seq 40); do (echo x > p) & (cat < p > /dev/null) & (exec 3> p) & done; for i in $(seq 40); do mkfifo q$i; (timeout 20 sh -c \"echo > q$i\") & done; for i in 1 2 3; do timeout 10 touch y$i || echo SLOW; done; timeout 10 mkdir -p a/b && timeout 10 rm -r a && echo fine; for j in $(jobs -p); do kill $j; done 2>/dev/null; kill -9 -- $(jobs -p) 2>/dev/null; true"},
	{name: "a lease of one's own", hole: "B9", said: "fine", after: "ls", left: "other",
		script: python(`signal.signal(signal.SIGIO, signal.SIG_IGN)
fd = os.open('leased', os.O_CREAT|os.O_RDWR, 0o600); os.close(fd); fd = os.open('leased', os.O_RDONLY); r = t(fcntl.fcntl, fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
ps = [subprocess.Popen(['sh', '-c', 'echo x > leased'], stderr=2) for _ in range(30)]
time.sleep(0.3); s = time.time(); open('other', 'w').close(); os.mkdir('m'); os.rename('m', 'm2'); print('fine' if time.time() - s < 5 else 'SLOW', r)
t(fcntl.fcntl, fd, fcntl.F_SETLEASE, fcntl.F_UNLCK); [p.kill() for p in ps]; [p.wait() for p in ps]`)},
	{name: "hard links to what is protected", hole: "B11", canary: true, after: "cat .git/config .git/hooks/pre-commit.sample .vscode/tasks.json",
		script: "ln .git/config c; echo '# EVIL' >> c; ln .vscode/tasks.json v; echo EVIL >> v; ln .git/hooks/pre-commit.sample h; echo EVIL >> h; ln /usr/bin/env e && echo EVIL > linked; ln -L out/s o; cp -l .git/config c2; true"},
	{name: "nested sandboxes keep their walls", hole: "B12", needs: []string{"bwrap"}, flags: []string{"--nested", "full"}, after: "cat f g h", left: "kept", setup: "echo kept > f; echo kept > g;",
		script: `bwrap --ro-bind / / --proc /proc --dev /dev sh -c 'echo EVIL > f; rm -f g; mkdir EVIL'; bwrap --ro-bind / / --tmpfs "$PWD" sh -c "echo EVIL > $PWD/h; rm -f $PWD/g; mv $PWD/f $PWD/x"; ls -d EVIL; true`},
	{name: "a caller's own Landlock", hole: "B12", setup: "echo kept > f;", after: "cat f; ls", left: "kept",
		script: python(`attr = struct.pack('<Q', (1 << 13) - 1); b = ctypes.create_string_buffer(attr)
fd = L.syscall(444, b, 8, 0); print('ruleset', fd >= 0); L.prctl(38, 1, 0, 0, 0); restricted = L.syscall(446, fd, 0) == 0; print('restricted', restricted)
if not restricted: sys.exit() # refused: then it knows that it is not
for name, f in (('open', lambda: os.write(os.open('f', os.O_WRONLY|os.O_TRUNC), b'EVIL')), ('mkdir', lambda: os.mkdir('EVIL1')), ('unlink', lambda: os.unlink('f')), ('rename', lambda: os.rename('f', 'EVIL2')), ('create', lambda: open('EVIL3', 'w').write('EVIL')), ('symlink', lambda: os.symlink('x', 'EVIL4')), ('truncate', lambda: os.truncate('f', 0))): print(name, t(f))`)},
	{name: "a root of one's own", hole: "B12", setup: "mkdir jail jail/in; echo kept > f;", after: "cat f; ls . jail | grep -x leaked | sed s/^/EVIL/; ls", left: "kept",
		script: "cp difftool jail/; " + python(`if L.unshare(0x10000000) == 0:
    os.chroot('jail'); os.chdir('/'); print(t(os.symlink, '/in', '/l'), t(os.mkdir, '/../../../leaked-no'))
    print(t(lambda: open('/../f', 'w').write('EVIL'))); print(t(os.unlink, '/../../f'), t(os.rename, '/in', '/../leaked'))`)},
	{name: "changes by descriptor", hole: "B15", canary: true, after: "test -s .vscode/tasks.json || echo EVIL gone; stat -c %a .vscode/tasks.json | grep 777 | sed s/^/EVIL/; getfattr -d .vscode/tasks.json 2>/dev/null | sed s/^/EVIL/; true",
		script: python(`fd = os.open('.vscode/tasks.json', os.O_RDONLY); print(t(os.fchmod, fd, 0o777), t(os.setxattr, fd, 'user.x', b'y'), t(os.utime, fd, (1, 1)), t(os.ftruncate, fd, 0), t(os.fchown, fd, -1, os.getgid()))
d = os.open('.vscode', os.O_RDONLY); print(t(os.fchmod, d, 0o777), t(os.unlink, 'tasks.json', dir_fd=d), t(os.rename, 'tasks.json', 'x', src_dir_fd=d, dst_dir_fd=d))
print(t(fcntl.ioctl, fd, 0x40086602, struct.pack('l', 0x40)))
n = os.open('new', os.O_CREAT|os.O_RDWR, 0o600); s = os.open('.vscode/tasks.json', os.O_RDONLY); print(t(fcntl.ioctl, s, 0x40049409, n))`)},
	{name: "programs that cannot be read", hole: "B16", after: "ls", left: "x2", said: "fine",
		script: "cp /usr/bin/touch t; chmod 111 t; ./t x1 x2 && echo fine; " + python(`L.prctl(4, 0, 0, 0, 0); open('x3', 'w').write('undumpable'); os.mkdir('x4')`)},
	{name: "a storm of signals", hole: "B20", after: "ls s | wc -l", left: "3000", said: "fine",
		script: python(`signal.signal(signal.SIGALRM, lambda *a: None); os.mkdir('s'); signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002); bad = []
for i in range(3000):
    for what in (lambda: os.mkdir('s/%d' % i), lambda: os.rename('s/%d' % i, 's/r%d' % i)):
        while True:
            try: what()
            except InterruptedError: continue # before anybody saw the call: then it is not done
            except OSError as e: bad.append(e.errno)
            break
signal.setitimer(signal.ITIMER_REAL, 0); print(bad[:5] or 'fine')`)},
	{name: "no descriptor left", hole: "B22", setup: "echo precious > f;", after: "cat f; ls", left: "precious", said: "EMFILE",
		script: python(`import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32)); l = []
try:
    while True: l.append(os.dup(0))
except OSError: pass
print(t(os.open, 'f', os.O_WRONLY|os.O_TRUNC), t(os.open, 'EVILNEW', os.O_WRONLY|os.O_CREAT|os.O_EXCL, 0o600), flush=True); os._exit(0)`)},
	{name: "a flood from many threads", hole: "B23", said: "fine", after: "true",
		script: python(`os.mkdir('s'); threading.stack_size(65536); done = []
def f(i):
    for k in range(5):
        n = 's/%d' % i; os.mkdir(n); open(n + '/f', 'w').write('x'); os.unlink(n + '/f'); os.rmdir(n)
    done.append(i)
ts = [threading.Thread(target=f, args=(i,)) for i in range(400)]; [x.start() for x in ts]; [x.join() for x in ts]
print('fine' if len(done) == 400 and not os.listdir('s') else len(done))`)},
	{name: "a listener of one's own", hole: "B24", said: "refused\nstill there", after: "cat still", left: "works",
		script: python(`L.prctl(38, 1, 0, 0, 0); f = ctypes.create_string_buffer(struct.pack('<HBBI', 6, 0, 0, 0x7fff0000)); p = ctypes.create_string_buffer(struct.pack('<H6xQ', 1, ctypes.addressof(f)))
r = L.syscall(317, 1, 8, p); print('refused' if r < 0 else 'a second listener', flush=True); open('still', 'w').write('works'); print('still there')`)},
	{name: "directories that become protected names", hole: "B28", canary: true, after: "ls -d sub/.git/hooks/pre-commit sub2/.git/hooks/pre-commit .husky/pre-commit 2>/dev/null | sed s/^/EVIL/; cat .git/hooks/pre-commit 2>/dev/null; cat .git/hooks/post-commit 2>/dev/null; true", setup: "mkdir sub sub2;",
		script: "mkdir -p x/hooks; cp -r .git/. x/ 2>/dev/null; echo '# EVIL' > x/hooks/pre-commit; chmod +x x/hooks/pre-commit; cp -r x y; cp -r x z; cp -r x sub2/repo; mv -T y sub/.git; (cd sub2; mv repo .git); mv -T .git old; mv -T z .git; " +
			python(`L.renameat2(-100, b'x', -100, b'.git', 2); L.renameat2(-100, b'x/hooks', -100, b'.git/hooks', 2); t(os.symlink, 'x', 'sub/.git')`)},
	{name: "parents that appear meanwhile", hole: "B6", said: "fine", after: "true",
		script: python(`bad = []
def f(i, k, b):
    b.wait()
    for p in ('r%d/n/p%d' % (k, i), 'r%d/n' % k, 'r%d/n/p%d' % (k, i)):
        e = t(os.mkdir, p)
        if e not in (None, 'ENOENT', 'EEXIST'): bad.append((p, e))
for k in range(100):
    os.mkdir('r%d' % k); b = threading.Barrier(4); ts = [threading.Thread(target=f, args=(i, k, b)) for i in range(4)]; [x.start() for x in ts]; [x.join() for x in ts]
print(bad[:3] or 'fine')`)},
	{name: "a race of names", hole: "B6, B13, B18", flags: []string{"--write", "granted"}, setup: "mkdir granted;", after: "true", said: "raced",
		script: "./difftool race $PWD 3"},
}

// TestBrokerRaceOutside: names that change while calls are in flight never
// reach what can only be read.
func TestBrokerRaceOutside(t *testing.T) {
	seconds := often("3", "50")
	eachPerson(t, func(t *testing.T, p person) {
		for _, nested := range nestings {
			t.Run(nested, func(t *testing.T) {
				w := newWorld(t, p)
				w.must(copyFile(difftool(t), w.project+"/difftool", 0o755))
				w.mkdir(w.project+"/.vscode", 0o755)
				w.write(w.project+"/.vscode/victim", "kept")
				w.write(w.outside+"/victim", "kept")
				before := w.outsideSh("cd " + w.outside + "; ls -lAR --time-style=full-iso; cd " + w.project + "/.vscode; ls -lAR --time-style=full-iso")
				r := w.run(slices.Concat(historyOn, []string{"--nested", nested, "--read", w.outside, "--", "./difftool", "race", w.project, seconds, w.outside, w.project + "/.vscode"})...)
				if r.code != 0 || !strings.Contains(r.out, "raced") {
					t.Errorf("%s", r)
				}
				if after := w.outsideSh("cd " + w.outside + "; ls -lAR --time-style=full-iso; cd " + w.project + "/.vscode; ls -lAR --time-style=full-iso"); after != before {
					t.Errorf("changed:\n%sis now\n%s", before, after)
				}
			})
		}
	})
}
