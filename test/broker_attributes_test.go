//go:build linux

package e2e

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// newCalls are the newest calls for attributes, in Python, by their numbers:
// the C libraries have no functions for them.
const newCalls = `EMPTY, NOFOLLOW, CWD = 0x1000, 0x100, -100
keep = []; NULL = ctypes.c_void_p(0)
def mem(b): keep.append(ctypes.create_string_buffer(b, max(len(b), 1))); return ctypes.addressof(keep[-1])
def args(v, n=None, fl=0): return struct.pack('=QII', mem(v), len(v) if n is None else n, fl)
def setx(fd, path, at, name, a, size=16): return sys_(463, fd, path, at, name, a, size)
def remx(fd, path, at, name): return sys_(466, fd, path, at, name)
def attr(x): return struct.pack('=QIIII', x, 0, 0, 0, 0)
def seta(fd, path, a, at=0, size=24): return sys_(469, fd, path, a, size, at)
`

// needNewCalls skips where the kernel does not know the calls: 6.13 brought
// those for extended attributes, 6.17 file_setattr.
func needNewCalls(t *testing.T) {
	t.Helper()
	none := -1
	if _, _, e := unix.Syscall6(unix.SYS_FILE_SETATTR, uintptr(none), 0, 0, 0, 0, 0); e == unix.ENOSYS {
		t.Skip("this kernel has no file_setattr")
	}
}

// TestNewAttributeCalls: setxattrat, removexattrat and file_setattr answer
// behind the broker as they do on the bare directory, sizes and faults included.
func TestNewAttributeCalls(t *testing.T) {
	needNewCalls(t)
	const body = `open('f', 'w').close(); os.mkdir('d'); os.mkfifo('p'); os.symlink('f', 'l'); os.symlink('none', 'dead')
fd = os.open('f', os.O_RDWR); ro = os.open('f', os.O_RDONLY); op = os.open('f', os.O_PATH); dd = os.open('.', os.O_RDONLY)
m = mmap.mmap(-1, 8192); page = ctypes.addressof(ctypes.c_char.from_buffer(m)); L.munmap(ctypes.c_void_p(page + 4096), 4096)
N = b'user.n'; A = args(b'one')
for i, (f, a) in enumerate([
    (setx, (CWD, b'f', 0, N, A)), (setx, (dd, b'f', 0, b'user.dd', A)), (setx, (fd, b'', EMPTY, b'user.fd', A)), (setx, (fd, NULL, EMPTY, b'user.null', A)),
    (setx, (ro, b'', EMPTY, b'user.ro', A)), (setx, (op, b'', EMPTY, b'user.op', A)), (setx, (CWD, b'', EMPTY, b'user.cwd', A)), (setx, (CWD, NULL, EMPTY, b'user.cwd2', A)),
    (setx, (-1, b'', EMPTY, N, A)), (setx, (99, NULL, EMPTY, N, A)), (setx, (-1, b'f', 0, N, A)), (setx, (fd, b'f', 0, N, A)), (setx, (fd, b'', 0, N, A)), (setx, (fd, NULL, 0, N, A)),
    (setx, (fd, b'f', EMPTY, N, A)), (setx, (dd, b'f', EMPTY, b'user.both', A)),
    (setx, (CWD, b'l', 0, b'user.link', A)), (setx, (CWD, b'l', NOFOLLOW, N, A)), (setx, (CWD, b'dead', 0, N, A)), (setx, (CWD, b'none', 0, N, A)), (setx, (CWD, b'd', 0, N, A)), (setx, (CWD, b'p', 0, N, A)),
    (setx, (CWD, b'f', 0x800, N, A)), (setx, (CWD, b'f', 1 << 31, N, A)), (setx, (CWD, b'f', 0, N, args(b'x', fl=4))), (setx, (CWD, b'f', 0, N, args(b'x', fl=1))), (setx, (CWD, b'f', 0, b'user.m', args(b'x', fl=2))),
    (setx, (CWD, b'f', 0, N, A, 0)), (setx, (CWD, b'f', 0, N, A, 15)), (setx, (CWD, b'f', 0, N, A + b'\0' * 8, 24)), (setx, (CWD, b'f', 0, N, A + b'\1' * 8, 24)), (setx, (CWD, b'f', 0, N, A + bytes(4080), 4096)),
    (setx, (CWD, b'f', 0, N, A + bytes(4081), 4097)), (setx, (CWD, b'f', 0, N, A, 1 << 40)), (setx, (CWD, b'f', 0, N, A, -1)), (setx, (CWD, b'f', 0, N, NULL)), (setx, (CWD, b'f', 0, N, ctypes.c_void_p(page + 4090))),
    (setx, (CWD, b'f', 0, N, args(b'x', 65537))), (setx, (CWD, b'f', 0, N, args(b'x', 0xffffffff))), (setx, (CWD, b'f', 0, N, struct.pack('=QII', page + 4096, 4, 0))), (setx, (CWD, b'f', 0, N, struct.pack('=QII', page + 4090, 10, 0))), (setx, (CWD, b'f', 0, b'user.empty', struct.pack('=QII', 0, 0, 0))),
    (setx, (CWD, b'f', 0, b'', A)), (setx, (CWD, b'f', 0, b'user.' + b'x' * 250, A)), (setx, (CWD, b'f', 0, b'user.' + b'x' * 251, A)), (setx, (CWD, b'f', 0, b'user.' + b'x' * 9000, A)), (setx, (CWD, b'f', 0, NULL, A)), (setx, (CWD, b'f', 0, b'nothing', A)),
    (setx, (CWD, b'x' * 5000, 0, N, A)), (setx, (CWD, ctypes.c_void_p(page + 4096), 0, N, A)), (setx, (CWD, b'/proc/self/fd/%d' % fd, 0, b'user.proc', A)), (setx, (CWD, b'd/../f', 0, b'user.dots', A)),
    (remx, (CWD, b'f', 0, b'user.dd')), (remx, (fd, b'', EMPTY, b'user.fd')), (remx, (fd, NULL, EMPTY, b'user.null')), (remx, (op, b'', EMPTY, N)), (remx, (fd, b'', 0, N)), (remx, (CWD, b'f', 0x800, N)), (remx, (CWD, b'l', NOFOLLOW, N)),
    (remx, (CWD, b'l', 0, b'user.link')), (remx, (CWD, b'f', 0, b'user.missing')), (remx, (CWD, b'f', 0, b'')), (remx, (CWD, b'f', 0, NULL)), (remx, (CWD, b'none', 0, N)), (remx, (99, b'', EMPTY, N)), (remx, (CWD, b'f', 0, b'user.' + b'x' * 251)),
    (seta, (CWD, b'f', attr(0x80))), (seta, (fd, b'', attr(0xc0), EMPTY)), (seta, (ro, NULL, attr(0x80), EMPTY)), (seta, (op, b'', attr(0x40), EMPTY)), (seta, (fd, b'', attr(0x40))), (seta, (CWD, b'', attr(0), EMPTY)), (seta, (99, b'', attr(0), EMPTY)), (seta, (fd, b'f', attr(0))), (seta, (dd, b'd', attr(0x80))),
    (seta, (CWD, b'l', attr(0x40))), (seta, (CWD, b'l', attr(0x80), NOFOLLOW)), (seta, (CWD, b'p', attr(0x80))), (seta, (CWD, b'none', attr(0))), (seta, (CWD, b'f', attr(0), 0x800)), (seta, (CWD, b'f', attr(4))), (seta, (CWD, b'f', attr(1 << 32))), (seta, (CWD, b'f', attr(1 << 30))), *([(seta, (CWD, b'f', attr(x))) for x in (0x8, 0x10) if os.getuid()]), # root has no privileges inside
    (seta, (CWD, b'f', attr(0), 0, 23)), (seta, (CWD, b'f', attr(0), 0, 0)), (seta, (CWD, b'f', attr(0) + bytes(8), 0, 32)), (seta, (CWD, b'f', attr(0) + b'\0\0\1' + bytes(5), 0, 32)), (seta, (CWD, b'f', attr(0) + bytes(4073), 0, 4097)), (seta, (CWD, b'f', attr(0), 0, 1 << 33)), (seta, (CWD, b'f', NULL)), (seta, (CWD, b'f', ctypes.c_void_p(page + 4090))), (seta, (CWD, ctypes.c_void_p(page + 4096), attr(0))),
    (seta, (CWD, b'f', attr(0x80)))]):
    r = f(*a); say(i, f.__name__, r)
    for n in ('f', 'd', '.'):
        b = ctypes.create_string_buffer(28); g = os.open(n, os.O_RDONLY); fcntl.ioctl(g, 0x801c581f, b); os.close(g)
        say('  ', n, sorted((k, os.getxattr(n, k)) for k in os.listxattr(n)), struct.unpack('=I', b.raw[:4])[0])
os._exit(0)`
	eachPerson(t, func(t *testing.T, p person) {
		a := hostile{body: newCalls + body}
		outside := a.prepare(t, p)
		outside.setenv("HARMLESS", "1")
		natively := outside.plain("python3", outside.base+"/tool/attack.py")
		w := a.prepare(t, p)
		r := w.run(slices.Concat(historyOn, []string{"--read", w.base + "/tool", "--", "python3", w.base + "/tool/attack.py"})...)
		if natively.code != 0 || r.code != 0 || strings.Count(natively.out, "\n") < 300 {
			t.Fatalf("natively: %s\ninside: %s", natively, r)
		}
		want, got := strings.Split(natively.out, "\n"), strings.Split(r.out, "\n")
		for i := range min(len(want), len(got)) {
			if want[i] != got[i] {
				t.Errorf("line %d: inside %s, natively %s", i, got[i], want[i])
			}
		}
		if len(want) != len(got) {
			t.Errorf("%d lines inside, %d natively", len(got), len(want))
		}
	})
}

// TestB15AttributesByDescriptor: the newest forms are changes of what a granted
// descriptor means now: recorded under the name that it has, refused where that
// is one that must not change. Continued, they would work on the mirror's mount.
func TestB15AttributesByDescriptor(t *testing.T) {
	needNewCalls(t)
	const body = newCalls + `fds = [os.open('d/f%d' % i, os.O_CREAT|os.O_RDWR, 0o644) for i in range(4)]
os.setxattr(fds[1], 'user.kept', b'1')
os.rename('d', 'e') # the record knows these files by other names than they have now
say('allowed', setx(fds[0], b'', EMPTY, b'user.new', args(b'v')), remx(fds[1], b'', EMPTY, b'user.kept'), seta(fds[2], NULL, attr(0x80), EMPTY))
open('ready', 'w').close() # somebody outside moves e/f3 to a protected place
while not os.path.exists('.vscode/f3'): time.sleep(0.01)
say('refused', setx(fds[3], b'', EMPTY, b'user.evil', args(b'v')), remx(fds[3], b'', EMPTY, b'user.kept'), seta(fds[3], b'', attr(0x80), EMPTY))
say('labels', setx(fds[0], b'', EMPTY, b'security.evil', args(b'v')), setx(fds[0], b'', EMPTY, b'trusted.evil', args(b'v')), remx(fds[0], b'', EMPTY, b'security.evil'))
if FOREIGN: say('foreign', L.unshare(0x10000000), t(os.chroot, 'jail'), setx(fds[3], b'', EMPTY, b'user.evil', args(b'v')), remx(fds[3], b'', EMPTY, b'user.kept'), seta(fds[3], b'', attr(0x80), EMPTY))
`
	eachPerson(t, func(t *testing.T, p person) {
		for _, foreign := range []string{"False", "True"} {
			t.Run("foreign "+foreign, func(t *testing.T) {
				a := hostile{body: "FOREIGN = " + foreign + "\n" + body, setup: "mkdir d jail"}
				w := a.prepare(t, p)
				moved := make(chan error, 1)
				go func() { moved <- w.moveWhenReady("e/f3", ".vscode/f3") }()
				r := w.run(slices.Concat(historyOn, []string{"--nested", "userns", "--read", w.base + "/tool", "--", "python3", w.base + "/tool/attack.py"})...)
				if err := <-moved; err != nil {
					t.Fatalf("%v: inside: %s", err, r)
				}
				want := "allowed 0 0 0\nrefused EACCES EACCES EACCES\nlabels EPERM EPERM EPERM\n"
				if foreign == "True" {
					want += "foreign 0 None EACCES EACCES EACCES\n"
				}
				if r.out != want {
					t.Errorf("inside: want %q: %s", want, r)
				}
				if denied := strings.Count(r.err, `/.vscode/f3" was refused`); denied < 2 {
					t.Errorf("%d denials name .vscode/f3, want one for each operation: %s", denied, r.err)
				}
				record := w.outsideSh("cat ~/.local/state/carrel/projects/*/changes/*.log")
				for _, line := range []string{`setxattr "/e/f0"`, `setxattr "/e/f1"`, `ioctl "/e/f2"`} {
					if line = strings.Replace(line, "/e", w.project+"/e", 1); !strings.Contains(record, line) {
						t.Errorf("the record lacks %s:\n%s", line, record)
					}
				}
				w.write(w.base+"/look.py", `import os, fcntl
for n in ('e/f0', 'e/f1', 'e/f2', '.vscode/f3'):
    b = bytearray(28); fcntl.ioctl(os.open(n, os.O_RDONLY), 0x801c581f, b); print(n, os.listxattr(n), b[0] & 0x80)`)
				got := w.outsideSh("python3 " + w.base + "/look.py")
				if want := "e/f0 ['user.new'] 0\ne/f1 [] 0\ne/f2 [] 128\n.vscode/f3 ['user.kept'] 0\n"; got != want {
					t.Errorf("on the host: %q, want %q", got, want)
				}
			})
		}
	})
}

// moveWhenReady moves a file of the project from outside, with an attribute,
// when something inside has made the file "ready".
func (w *world) moveWhenReady(from, to string) error {
	for end := time.Now().Add(10 * time.Second); !exists(w.project + "/ready"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return errors.New("nobody is ready")
		}
	}
	if err := syscall.Setxattr(w.project+"/"+from, "user.kept", []byte("1"), 0); err != nil {
		return err
	}
	return os.Rename(w.project+"/"+from, w.project+"/"+to)
}
