//go:build linux

package e2e

import "testing"

// TestB9NobodyWaits: what blocks one caller blocks no other.
func TestB9NobodyWaits(t *testing.T) {
	hold(t,
		hostile{name: "no lease to wait for", want: "EPERM\n", body: `open('leased', 'w').close(); fd = os.open('leased', os.O_RDONLY)
for how in (fcntl.F_RDLCK, fcntl.F_WRLCK): say(t(fcntl.fcntl, fd, fcntl.F_SETLEASE, how))`},
		hostile{name: "a storm of renames under dots", want: "fine", never: "SLOW", limit: 30e9, body: `os.mkdir('d'); os.makedirs('/tmp/storm'); stop = time.time() + 12
storm = 'import os,time\nos.chdir("/tmp/storm")\nopen("%d","w").close()\nwhile time.time() < %f:\n  for i in range(500): os.rename("%d","r%d"); os.rename("r%d","%d")\n'
ps = [subprocess.Popen(['python3', '-c', storm % (i, stop, i, i, i, i)]) for i in range(2)]
dots = 'import os,time\nn=0\nwhile time.time() < %f:\n  try: os.unlink("d/../" * 810 + "nothing")\n  except OSError: n += 1\n' % stop
ps += [subprocess.Popen(['python3', '-c', dots]) for i in range(6)]
time.sleep(1.5); worst = 0
for i in range(5):
    s = time.time(); os.mkdir('m%d' % i); worst = max(worst, time.time() - s); time.sleep(0.1)
say('SLOW %.1f' % worst if worst > 3 else 'fine %.3f' % worst); [p.kill() for p in ps]; [p.wait() for p in ps]`},
		hostile{name: "stopped and killed callers", want: "fine", never: "SLOW", body: `ps = [subprocess.Popen(['python3', '-c', 'import os\nwhile True:\n  os.close(os.open("f%d" % os.getpid(), os.O_CREAT|os.O_RDWR)); os.unlink("f%d" % os.getpid())']) for _ in range(12)]
time.sleep(0.5)
for _ in range(40):
    for p in ps[:6]: p.send_signal(signal.SIGSTOP)
    for p in ps[:6]: p.send_signal(signal.SIGCONT)
for p in ps[:6]: p.send_signal(signal.SIGSTOP)
for p in ps[6:]: p.kill()
s = time.time(); [open('g%d' % i, 'w').close() for i in range(50)]; say('SLOW' if time.time() - s > 5 else 'fine'); [p.kill() for p in ps]; [p.wait() for p in ps]`})
}

// TestB8NothingPrivilegedIsLeft: not by a caller with a root of its own either.
func TestB8NothingPrivilegedIsLeft(t *testing.T) {
	t.Parallel()
	body := `fd = os.open('f', os.O_CREAT|os.O_RDWR, 0o755); os.mkdir('jail')
r = L.unshare(0x10000000); say('userns', r)
if r == 0: say('chroot', t(os.chroot, 'jail'))
say(t(os.fchmod, fd, 0o4755), t(os.fchmod, fd, 0o2755), t(os.setxattr, fd, 'user.x', b'y'))
say('xattrat', sys_(463, fd, b'', 0x1000, b'user.evil', struct.pack('=QII', 0, 0, 0), 16))
say('clone', t(fcntl.ioctl, fd, 0x40086602, struct.pack('l', 0x40)))`
	after := `find . -perm /6000 -type f -printf 'EVIL %p %m\n'; getcap -r . 2>/dev/null | sed s/^/EVIL/; true`
	hold(t, hostile{name: "in a chroot", canary: true, flags: []string{"--nested", "userns"}, after: after, body: body},
		hostile{name: "at level full", flags: []string{"--nested", "full"}, after: after, body: body},
		hostile{name: "with mounts of its own", flags: []string{"--nested", "full"}, after: after, body: `fd = os.open('f', os.O_CREAT|os.O_RDWR, 0o755)
say(L.unshare(0x10020000)); say(t(os.fchmod, fd, 0o4755))
say('bind', L.mount(b'/proc/self/fd/%d' % fd, b'/tmp', None, 4096, None))`})
}

// TestB15ByDescriptor: what a descriptor of a protected file may not do to it,
// where no mount is in the way: metadata of a repository deeper in the project.
func TestB15ByDescriptor(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "a file below", canary: true, setup: "git init -q sub; chmod 640 sub/.git/config; touch -d @1000 sub/.git/config", want: "EACCES EACCES EACCES",
		after: `stat -c '%a %Y' sub/.git/config | grep -qx '640 1000' || echo EVIL`,
		body: `fd = os.open('sub/.git/config', os.O_RDONLY); say(t(os.fchmod, fd, 0o666), t(os.utime, fd, (1, 1)), t(os.setxattr, fd, 'user.x', b'y'))
for how in ('/proc/self/fd/%d' % fd, '/dev/fd/%d' % fd): t(os.chmod, how, 0o666); t(os.utime, how, (1, 1))`})
}

// TestB18Dots: ".." is the parent of where a link leads, not of the link.
func TestB18Dots(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "dots behind a link", alone: true, want: "fine", after: "test -d e/made && test -f e/file && test ! -e d/made && test ! -e d/file || echo EVIL", body: `os.mkdir('d'); os.makedirs('e/f'); os.symlink('../e/f', 'd/l'); os.symlink(os.getcwd() + '/e/f', 'd/abs')
os.mkdir('d/l/../made'); os.close(os.open('d/abs/../file', os.O_CREAT|os.O_WRONLY, 0o600)); say('fine')`})
}

// TestB18ResolvesInTheCallersRoot: no form of resolving leads through the
// supervisor's own root.
func TestB18ResolvesInTheCallersRoot(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "openat2 with conditions", flags: []string{"--nested", "full"}, want: "fine", never: "HOST", body: `os.mkdir('d'); os.symlink(os.getcwd() + '/d', 'abs'); here = os.open('.', os.O_RDONLY)
def mnt(fd): return [l.split()[1] for l in open('/proc/self/fdinfo/%d' % fd) if l.startswith('mnt_id')][0]
a = os.open('d/a', os.O_CREAT|os.O_RDWR, 0o600)
for res in (0x01, 0x02, 0x20, 0x03):
    how = ctypes.create_string_buffer(struct.pack('=QQQ', os.O_CREAT|os.O_RDWR, 0o600, res))
    fd = sys_(437, here, b'abs/n%d' % res, how, 24)
    if isinstance(fd, int) and mnt(fd) != mnt(a): say('HOST mount', hex(res), mnt(fd), mnt(a))
    else: say(hex(res), fd)
say('fine')`})
}

// TestB25Bind: a socket's name is the file that was asked for.
func TestB25Bind(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "a name with an at sign", want: "file True", body: `s = socket.socket(socket.AF_UNIX); say(t(s.bind, '@evil')); say('file', os.path.exists('@evil')); say(s.getsockname())`},
		hostile{name: "its text stays", want: "d/sock ./d/other abstract", body: `os.mkdir('d'); names = []
for n in ('d/sock', './d/other'): s = socket.socket(socket.AF_UNIX); s.bind(n); names.append(s.getsockname()); s.listen(); c = socket.socket(socket.AF_UNIX); c.connect(n)
s = socket.socket(socket.AF_UNIX); s.bind('\0here'); say(*names, 'abstract' if s.getsockname() == b'\0here' and not os.path.exists('here') else '')`})
}

// below is an attack on a pattern of the user by way of a parent.
func below(name, pattern, body string) hostile {
	return hostile{name: "a user's pattern: " + name, canary: true, setup: "mkdir -p kept/conf; echo kept > kept/conf/a", flags: []string{"--protect", pattern},
		after: "find conf top kept -path '*conf/*' -type f 2>/dev/null | xargs grep -l EVIL | sed s/^/EVIL/",
		body: `def put(n): t(lambda: open(n, 'w').write('EVIL'))
def mv(a, b): say(t(os.rename, a, b))
` + body}
}

// TestB28NamesThatBecomeProtected: whatever a directory is made of.
func TestB28NamesThatBecomeProtected(t *testing.T) {
	t.Parallel()
	after := `for f in sub/.git/hooks/pre-commit sub/.git/modules/m/hooks/pre-commit sub/.git/worktrees/m/hooks/pre-commit race*/.git/hooks/pre-commit conf/a; do if test -x $f; then echo EVIL $f; fi; done; true`
	hook := `os.makedirs('x/h'); open('x/h/pre-commit', 'w').write('#!/bin/sh\necho EVIL\n'); os.chmod('x/h/pre-commit', 0o755)
`
	hold(t, hostile{name: "hooks moved into a repository born inside", canary: true, after: after, body: hook + `os.makedirs('sub/.git'); say(t(os.rename, 'x/h', 'sub/.git/hooks'))`},
		hostile{name: "hooks linked into a repository born inside", canary: true, after: after, body: hook + `os.makedirs('sub/.git'); say(t(os.symlink, '../../x/h', 'sub/.git/hooks'))`},
		hostile{name: "hooks exchanged into a repository born inside", canary: true, after: after, body: hook + `os.makedirs('sub/.git/hooks'); say(L.renameat2(-100, b'x/h', -100, b'sub/.git/hooks', 2))`},
		hostile{name: "a module with hooks", canary: true, after: after, body: hook + `os.rename('x/h', 'x/hooks'); os.makedirs('sub/.git/modules'); say(t(os.rename, 'x', 'sub/.git/modules/m'))`},
		hostile{name: "a worktree with hooks", canary: true, after: after, body: hook + `os.rename('x/h', 'x/hooks'); os.makedirs('sub/.git/worktrees'); say(t(os.rename, 'x', 'sub/.git/worktrees/m'))`},
		below("one level", "**/conf/*", "os.mkdir('c'); put('c/a'); mv('c', 'conf')"),
		below("two levels", "**/conf/*/a", "os.makedirs('c/x'); put('c/x/a'); mv('c', 'conf')"),
		below("from elsewhere", "top/**/conf/*.sh", "os.makedirs('c/x/conf/'); os.mkdir('top'); put('c/x/conf/a.sh'); mv('c', 'top/c')"),
		below("by an exchange", "**/conf/*", "os.mkdir('c'); os.mkdir('d'); os.rename('d', 'conf'); put('c/a'); L.renameat2(-100, b'c', -100, b'conf', 2)"),
		below("a name that is not there yet", "conf/x/a", "os.makedirs('c/x'); put('c/x/a'); mv('c', 'conf')"),
		below("deep", "conf/**/a", "d = 'c/' + 'x/' * 100; os.makedirs(d); put(d + 'a'); mv('c', 'conf')"),
		below("closed for now", "**/conf/x/a", "os.makedirs('c/x'); put('c/x/a'); os.chmod('c/x', 0); mv('c', 'conf'); t(os.chmod, 'conf/x', 0o755)"),
		below("away and back", "**/conf/*", "mv('kept/conf', 'kept/c'); put('kept/c/a'); mv('kept/c', 'kept/conf')"),
		hostile{name: "a file that is a directory when it is moved", canary: true, after: after, body: hook + `os.rename('x/h', 'x/hooks'); open('y', 'w').close(); stop = time.time() + 4
flip = subprocess.Popen(['python3', '-c', 'import ctypes,time\nL=ctypes.CDLL(None)\nwhile time.time() < %f: L.renameat2(-100, b"x", -100, b"y", 2)' % stop])
n = 0
while time.time() < stop:
    os.makedirs('race%d' % n, exist_ok=True)
    if t(os.rename, 'y', 'race%d/.git' % n) is None:
        if os.path.isdir('race%d/.git' % n): say('moved a directory', n); break
        n += 1
        try: open('y', 'x').close()
        except OSError: pass
flip.wait()`})
}

// TestB19Umask: a file gets the umask that holds when it is made.
func TestB19Umask(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "changed by another thread", want: "fine", body: `os.umask(0o022); want = [0o022, 0]; bad = []; stop = time.time() + 4
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
[x.join() for x in ts]; say(len(bad), bad[:3]) if bad else say('fine')`})
}
