package history

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"carrel/internal/history/disk"

	"golang.org/x/sys/unix"
)

// device is an ext4 in a file, whose power can be taken away.
type device struct {
	t         *testing.T
	image, at string
}

func newDevice(t *testing.T) *device {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting a file system takes root")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := &device{t: t, image: base + "/image", at: base + "/mounted"}
	err = os.Mkdir(d.at, 0o700)
	if err == nil {
		err = os.WriteFile(d.image, nil, 0o600)
	}
	if err == nil {
		err = os.Truncate(d.image, 32<<20)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0", d.image).CombinedOutput(); err != nil {
		t.Fatalf("mkfs.ext4: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = unix.Unmount(d.at, unix.MNT_DETACH) })
	d.mount()
	return d
}

func (d *device) mount() {
	d.t.Helper()
	if out, err := exec.Command("mount", "-o", "loop,commit=600", d.image, d.at).CombinedOutput(); err != nil {
		d.t.Fatalf("mount: %v: %s", err, out)
	}
}

// Of EXT4_IOC_SHUTDOWN: what ends there, and whether names and metadata are brought
// to the disk before, and data are not.
const (
	ext4Shutdown = 0x8004587d
	withLog      = 1
	withoutLog   = 2
)

// cut takes the power away. Nothing that is written later counts.
func (d *device) cut(how uint32) {
	fd, err := unix.Open(d.at, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	defer unix.Close(fd)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), ext4Shutdown, uintptr(unsafe.Pointer(&how))); errno != 0 {
		d.t.Fatalf("taking the power away: %v", errno)
	}
}

// again brings the power back: of a copy, as whoever has taken over this mount into
// a namespace of his own keeps what is without power. It is another device then, for
// the kernel numbers them as they come.
func (d *device) again() {
	d.t.Helper()
	was, err := unix.Open(d.at, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	defer unix.Close(was)
	d.copied()
	var before, now unix.Stat_t
	if err := errors.Join(unix.Fstat(was, &before), unix.Stat(d.at, &now)); err != nil || before.Dev == now.Dev {
		d.t.Fatalf("the device was %d and is %d: %v", before.Dev, now.Dev, err)
	}
}

func (d *device) copied() {
	d.t.Helper()
	if err := unix.Unmount(d.at, unix.MNT_DETACH); err != nil {
		d.t.Fatalf("unmounting: %v", err)
	}
	was := d.image
	if d.image = strings.TrimSuffix(was, "+"); d.image == was {
		d.image += "+"
	}
	if out, err := exec.Command("cp", "--sparse=always", was, d.image).CombinedOutput(); err != nil {
		d.t.Fatalf("cp: %v: %s", err, out)
	}
	if err := os.Remove(was); err != nil {
		d.t.Fatal(err)
	}
	d.mount()
}

// TestPowerLostOnADevice does the same to the ext4 of this kernel: its journal is
// replayed, and what was not synced is gone.
func TestPowerLostOnADevice(t *testing.T) {
	tries := 8
	if os.Getenv("CARREL_SOAK") == "1" {
		tries = 200
	}
	dev := newDevice(t)
	for n := range tries {
		for _, how := range []uint32{withLog, withoutLog} {
			when := fmt.Sprintf("try %d, kind %d", n, how)
			dev.try(rand.IntN(220), how, when)
		}
	}
}

func (dev *device) try(at int, how uint32, when string) {
	t := dev.t
	for _, name := range []string{"root", "store"} {
		if err := os.RemoveAll(dev.at + "/" + name); err != nil {
			t.Fatal(err)
		}
	}
	d := &desk{t: t, root: dev.at + "/root"}
	if err := os.Mkdir(d.root, 0o755); err != nil {
		t.Fatal(err)
	}
	d.fill(t)
	unix.Sync()
	var marks []mark
	p := &power{desk: d, t: t}
	calls, gone := 0, false
	disk.Trial = func(call string) error {
		if call == "look" || call == "open" {
			return nil
		}
		if calls++; calls > at && !gone {
			dev.cut(how)
			gone = true
		}
		return nil
	}
	func() {
		defer func() { disk.Trial = nil }()
		defer func() {
			if r := recover(); r != nil && r != errPower {
				panic(r)
			}
		}()
		d.store = dev.open(when)
		f := failed{t}
		for _, do := range []func(t fataler, d *desk){func(t fataler, d *desk) { d.write(t, "a", "of the first"); d.remove(t, "od\xffd\n") }, second} {
			m := mark{before: snapshot(f, d.root)}
			d.begin(f)
			m.step = d.step
			do(f, d)
			d.end(f)
			if err := d.w.Sync(); err != nil || gone {
				panic(errPower)
			}
			m.after, m.told = snapshot(f, d.root), told(d.read(f).Step(m.step))
			marks = append(marks, m)
		}
		d.close(f)
		_, _ = d.undo(f, Request{Steps: []uint64{1, 2}})
	}()
	if !gone {
		dev.cut(how)
	}
	if d.w != nil {
		d.kill()
	}
	if d.store != nil {
		d.store.Close()
	}
	dev.again()
	p.marks = marks
	p.check(dev.at+"/store", when)
}

type powerLost struct{}

func (powerLost) Error() string { return "the power is gone" }

var errPower error = powerLost{}

// failed ends what goes on without power.
type failed struct{ t *testing.T }

func (failed) Helper()               {}
func (failed) Fatalf(string, ...any) { panic(errPower) }

func (dev *device) open(when string) *Store {
	s, err := Open(dev.at + "/store")
	if err != nil {
		panic(errPower)
	}
	return s
}

// check looks whether what was synced is there, and can be taken back if it is as
// it was left.
func (p *power) check(store, when string) {
	p.t.Helper()
	p.store = openStore(p.t, store)
	defer p.store.Close()
	if _, err := p.store.Recover([]string{p.root}); err != nil {
		p.t.Fatalf("%s: recovering: %v", when, err)
	}
	l := p.read(p.t)
	for _, m := range p.marks {
		s := l.Step(m.step)
		if got := told(s); s == nil || got != m.told {
			p.t.Fatalf("%s: step %d is told as\n%s\nand not\n%s", when, m.step, got, m.told)
		}
	}
	p.checkVerified(0, when)
	if n := len(p.marks); n > 0 && snapshot(p.t, p.root) == p.marks[n-1].after && !strings.HasSuffix(l.Steps[len(l.Steps)-1].Begin.Kind, "do") {
		p.undoBackTo(&p.marks[n-1], when)
	}
}
