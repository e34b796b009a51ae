//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// TestB1MasksHold: masked and denied content cannot be had through the broker.
func TestB1MasksHold(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "every way to a masked file", canary: true, body: `for f in ('.env', 'keys/k'):
    for fl in (os.O_RDWR, os.O_RDWR|os.O_CREAT, os.O_RDONLY|os.O_CREAT, os.O_WRONLY|os.O_APPEND, os.O_PATH, os.O_RDWR|os.O_NOFOLLOW):
        for how in (f, '/proc/self/cwd/' + f, '/proc/self/root' + os.getcwd() + '/' + f, '/proc/%d/cwd/' % os.getpid() + f, 'x/../' + f, '//' + os.getcwd() + '/./' + f):
            fd = t(os.open, how, fl)
            if isinstance(fd, int):
                for g in (fd, t(os.open, '/proc/self/fd/%d' % fd, os.O_RDWR), t(os.open, '/proc/self/fd/%d' % fd, os.O_RDONLY)):
                    if isinstance(g, int): say(t(os.read, g, 99))
                os.close(fd)
for f in ('.env', 'keys/k'):
    say(t(os.link, f, 'l')); say(t(os.rename, f, 'r')); say(L.renameat2(-100, f.encode(), -100, b'file', 2)); fd = t(os.open, f, os.O_PATH)
    if isinstance(fd, int): say(L.linkat(fd, b'', -100, b'l2', 0x1000), L.linkat(-100, b'/proc/self/fd/%d' % fd, -100, b'l3', 0x400))
for p in ('keys', '.'): say(t(os.rename, p, 'moved'), t(os.open, p, os.O_TMPFILE|os.O_RDWR) if p == 'keys' else 0)
say([open(n).read() for n in ('l', 'r', 'l2', 'l3', 'moved/k') if os.path.exists(n) and os.access(n, os.R_OK)])`})
}

// TestB2NoWritableReopen: a descriptor for reading never becomes one for
// writing, whatever its name in procfs; what is named so is decided and recorded.
func TestB2NoWritableReopen(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "every name of a descriptor", canary: true, want: "changed", after: "cat .vscode/tasks.json .git/config", body: `import threading
for p in ('.vscode/tasks.json', '.git/config'):
    for fl in (os.O_RDONLY, os.O_RDONLY|os.O_CREAT, os.O_RDONLY|os.O_TRUNC if os.environ.get('CARREL') == '1' else os.O_RDONLY, os.O_PATH):
        fd = t(os.open, p, fl)
        if not isinstance(fd, int): continue
        d = os.open('/proc/self/fd', os.O_RDONLY); t(os.symlink, '/proc/self/fd/%d' % fd, 'lnk%d' % fd)
        names = ['/proc/self/fd/%d', '/proc/thread-self/fd/%d', '/dev/fd/%d', '/proc/%d/fd/%%d' % os.getpid(), '/proc/self/task/%d/fd/%%d' % threading.get_native_id(), '/proc//self/./fd/%d', 'lnk%d', '/proc/%d/root/proc/self/fd/%%d' % os.getpid()]
        for n in names:
            for w in (os.O_WRONLY|os.O_APPEND, os.O_RDWR|os.O_CREAT|os.O_APPEND):
                g = t(os.open, n % fd, w)
                if isinstance(g, int): t(os.write, g, b'# EVIL\n'); os.close(g)
        g = t(os.open, str(fd), os.O_WRONLY|os.O_APPEND, dir_fd=d)
        if isinstance(g, int): t(os.write, g, b'# EVIL\n')
        t(os.truncate, '/proc/self/fd/%d' % fd, 0) if os.environ.get('CARREL') == '1' else 0
# and one of a plain file is recorded
fd = os.open('file', os.O_RDONLY); g = t(os.open, '/proc/self/fd/%d' % fd, os.O_WRONLY)
if isinstance(g, int): os.write(g, b'changed'); say('changed')`})
}

// TestB2WithoutLandlock: at level full no file rule of Landlock closes procfs'
// names of descriptors, and calls of who has mounts of its own are continued.
// Even so a descriptor for reading gives no more, and what another gives is the
// file that it was granted for, which is in the record.
func TestB2WithoutLandlock(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "in mounts of one's own", flags: []string{"--nested", "full"}, want: "EROFS EROFS EROFS", never: "GOT", after: "cat .git/config file", body: `ro = [os.open('.git/config', os.O_RDONLY), os.open('file', os.O_RDONLY|os.O_CREAT), os.open('seen', os.O_RDONLY|os.O_CREAT, 0o600)]
log = os.open('log', os.O_CREAT|os.O_WRONLY|os.O_APPEND, 0o600); say(L.unshare(0x10020000))
say(*[t(os.open, '/proc/self/fd/%d' % n, os.O_RDWR) for n in ro])
for n in ro:
    for how in ('/proc/self/fd/%d' % n, '/proc/%d/fd/%d' % (os.getpid(), n)):
        g = t(os.open, how, os.O_WRONLY); isinstance(g, int) and say('GOT', how, os.write(g, b'EVIL'))
        say(t(os.truncate, how, 0), t(os.chmod, how, 0o777), t(os.setxattr, how, 'user.x', b'y'), t(os.link, how, 'l', follow_symlinks=True))
g = t(os.open, '/proc/self/fd/%d' % log, os.O_RDWR|os.O_TRUNC); say('its own', g); isinstance(g, int) and os.write(g, b'x')
say(L.mount(b'/proc/self/fd/%d' % log, b'/tmp', None, 4096, None), sys_(428, log, b'', 0x1001), sys_(429, log, b'', -100, b'/tmp', 4))`},
		hostile{name: "by a text that changes", flags: []string{"--nested", "full"}, want: "raced", never: "GOT", after: "cat .git/config", body: `ro = os.open('.git/config', os.O_RDONLY); ro2 = os.open('file', os.O_RDONLY|os.O_CREAT); log = os.open('log', os.O_CREAT|os.O_WRONLY|os.O_APPEND, 0o600)
buf = ctypes.create_string_buffer(64); stop = time.time() + 2; won = 0; evil = os.fstat(ro).st_ino
def flip():
    while time.time() < stop:
        for n in (ro, ro2, log): buf.value = b'/tmp/x'; buf.value = b'/proc/self/fd/%d' % n
th = threading.Thread(target=flip); th.start()
while time.time() < stop:
    g = L.open(buf, os.O_RDWR|os.O_CREAT|os.O_APPEND, 0o600)
    if g < 0: continue
    if os.fstat(g).st_ino == evil: say('GOT'); os.write(g, b'EVIL')
    won += os.fstat(g).st_ino == os.fstat(log).st_ino; os.close(g)
th.join(); say('raced', won)`})
}

// TestB3StandardDescriptors: they are relayed, so none leads to a host file.
func TestB3StandardDescriptors(t *testing.T) {
	body := `say('said'); print('told', file=sys.stderr, flush=True); got = sys.stdin.read() if os.environ['HOW'] == '<' else 'SECRET\n'
for n in (0, 1, 2):
    for fl in (os.O_RDWR, os.O_WRONLY|os.O_TRUNC):
        g = t(os.open, '/proc/self/fd/%d' % n, fl)
        if isinstance(g, int) and stat.S_ISREG(os.fstat(g).st_mode): os.write(g, b'EVIL')
    if stat.S_ISREG(os.fstat(n).st_mode): t(os.fchmod, n, 0o777); t(os.ftruncate, n, 0)
sys.exit(7 if got == 'SECRET\n' else 8)`
	eachPerson(t, func(t *testing.T, p person) {
		for how, want := range map[string]string{"<": "SECRET\n", ">>": "SECRET\nsaid\n", "2>>": "SECRET\ntold\n"} {
			a := hostile{name: "stdio " + how, body: body}
			for _, walls := range []bool{false, true} {
				w := a.prepare(t, p)
				before := w.lie(w.outside)
				command := "python3 " + w.base + "/tool/attack.py "
				if walls {
					command = w.bin + " run --env HOW='" + how + "' --read " + w.base + "/tool -- " + command
				}
				w.setenv("HARMLESS", "1")
				w.setenv("HOW", how)
				r := w.plain("bash", "-c", command+how+" "+w.outside+"/s")
				got, _, _ := strings.Cut(w.read(w.outside+"/s"), "carrel: ") // its own words go there, too
				if (got == want) != walls || r.code != 7 {
					t.Errorf("%s, walls %v: the file is %q, want %q: %s", how, walls, got, want, r)
				}
				if c := changes(before, w.lie(w.outside)); walls && how == "<" && len(c) != 0 {
					t.Errorf("%s: changed: %q", how, c)
				}
			}
		}
	})
}

// TestB4NoDescriptorsOfOurs: a command has its three, and sees none of the stage's.
func TestB4NoDescriptorsOfOurs(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "descriptors", want: "[0, 1, 2]", never: "OPENED", body: `say([n for n in range(3, 1024) if not isinstance(t(os.fstat, n), str)] or [0, 1, 2])
for n in range(64):
    g = t(os.open, '/proc/1/fd/%d' % n, os.O_PATH)
    if isinstance(g, int): say('OPENED', n)
for n in ('root', 'cwd', 'ns/mnt'):
    g = t(os.open, '/proc/1/%s/..' % n, os.O_PATH)
    if isinstance(g, int) and os.path.exists('/proc/self/fd/%d/out/s' % g): say('OPENED', n)`})
}

// TestB5NoDirectories: no granted descriptor is a directory's; ".." stays below the root.
func TestB5NoDirectories(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "up", canary: true, never: "MIRROR", body: `import os.path
def mount(fd): return [l.split()[1] for l in open('/proc/self/fdinfo/%d' % fd) if l.startswith('mnt_id')][0]
ours = {l.split()[0] for l in open('/proc/self/mountinfo')}
rel = os.path.relpath(os.readlink('out'), os.getcwd())
for p in ('.', 'd', '.vscode', '/', '/proc/self/cwd', '/proc/self/root'):
    t(os.mkdir, 'd')
    for fl in (os.O_RDONLY, os.O_RDONLY|os.O_CREAT, os.O_RDWR|os.O_DIRECTORY, os.O_PATH, os.O_TMPFILE|os.O_RDWR):
        fd = t(os.open, p, fl)
        if not isinstance(fd, int): continue
        if stat.S_ISDIR(os.fstat(fd).st_mode) and mount(fd) not in ours: say('MIRROR', p, fl)
        for n in (rel, '../' + rel, '../../..' + os.readlink('out')):
            for w in (os.O_RDWR, os.O_RDWR|os.O_CREAT):
                g = t(os.open, n + '/s', w, dir_fd=fd)
                if isinstance(g, int): say(os.read(g, 9)); os.close(g)
        if os.environ.get('CARREL') == '1': t(os.unlink, rel + '/s', dir_fd=fd); t(os.mkdir, rel + '/EVIL', dir_fd=fd); t(os.rename, 'file', rel + '/EVIL', dst_dir_fd=fd); t(os.link, rel + '/s', 'l', src_dir_fd=fd)
for n in ('out/EVIL', 'out/../outside/EVIL'):
    if os.environ.get('CARREL') == '1':
        for f in (lambda: os.mkdir(n), lambda: open(n, 'w'), lambda: os.symlink('x', n), lambda: os.mknod(n), lambda: os.rename('file', n), lambda: os.chmod('out/s', 0o777), lambda: os.utime('out/s'), lambda: os.truncate('out/s', 0), lambda: socket.socket(socket.AF_UNIX).bind(n)): t(f)
`})
}

// TestB7NobodyElsesFiles: hands have the caller's user and no capability. As
// root only: nobody else can be asked to touch another user's files and be able.
func TestB7NobodyElsesFiles(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "as root", root: true, canary: true, setup: "echo kept > o; chmod 600 o; mkdir od; echo kept > od/f; chmod 700 od; chown -R 4242:4242 o od", after: "cat o od/*; stat -c 'EVIL %a %u' o | grep -v ' 600 4242'; true",
		body: `for f in (lambda: open('o', 'a').write('EVIL'), lambda: open('od/g', 'w').write('EVIL'), lambda: os.chmod('o', 0o4755), lambda: os.chown('o', 0, 0), lambda: os.utime('o', (1, 1)), lambda: os.setxattr('o', 'user.x', b''), lambda: os.truncate('od/f', 0), lambda: os.link('o', 'l'), lambda: open('l', 'a').write('EVIL')): say(t(f))`})
}

// TestB11HardLinks: none from what is protected or elsewhere.
func TestB11HardLinks(t *testing.T) {
	t.Parallel()
	hold(t, hostile{name: "every source", canary: true, alone: true, setup: "git init -q sub", after: "cat .git/config .vscode/tasks.json sub/.git/config", body: `for i, f in enumerate(('sub/.git/config', '.git/config', '.vscode/tasks.json', '.git/hooks/pre-commit.sample', 'out/s')):
    n = 'l%d' % i; say(t(os.link, f, n)); fd = t(os.open, f, os.O_RDONLY)
    if isinstance(fd, int): L.linkat(fd, b'', -100, n.encode(), 0x1000); L.linkat(-100, b'/proc/self/fd/%d' % fd, -100, n.encode(), 0x400)
    if os.path.exists(n): t(lambda: open(n, 'a').write('# EVIL\n'))
say(t(os.link, '/usr/bin/env', 'env'))
fd = os.open('.', os.O_TMPFILE|os.O_RDWR, 0o600); os.write(fd, b'# EVIL\n')
for n in (b'.vscode/new', b'.envrc', b'.git/hooks/post-commit'):
    if os.environ.get('CARREL') == '1': say(L.linkat(-100, b'/proc/self/fd/%d' % fd, -100, n, 0x400))
`})
}

// TestB12ForeignRoots: who has a root or mounts of its own changes nothing of
// the project by name, not even with directories that it brought along.
func TestB12ForeignRoots(t *testing.T) {
	t.Parallel()
	body := `d = os.open('.', os.O_RDONLY); os.mkdir('jail'); os.mkdir('jail/in'); say(L.unshare(%s))
%s
fs = [lambda: os.mkdir('EVIL', dir_fd=d), lambda: os.open('EVIL', os.O_CREAT|os.O_WRONLY, dir_fd=d), lambda: os.unlink('file', dir_fd=d), lambda: os.rename('file', 'EVIL', src_dir_fd=d, dst_dir_fd=d)]
if os.environ.get('CARREL') == '1': fs += [lambda: os.mkdir('/proc/1/cwd/EVIL'), lambda: os.symlink('x', '/EVIL')]
for f in fs: say(t(f))`
	after := "ls | grep -x EVIL; cat file | grep -q one || echo EVIL"
	hold(t, hostile{name: "chroot", canary: true, flags: []string{"--nested", "userns"}, after: after, body: sprintf(body, "0x10000000", "say(t(os.chroot, 'jail'))")},
		hostile{name: "mounts", flags: []string{"--nested", "full"}, after: after, body: sprintf(body, "0x10020000", "say(L.mount(b'jail', os.getcwd().encode(), None, 4096, None), L.mount(b'none', b'/tmp', b'tmpfs', 0, None))")})
}
