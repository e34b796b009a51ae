package history

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
)

// asUser runs a test of this package again as an ordinary user.
func asUser(t *testing.T, name string) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	const uid = 4242
	dir := t.TempDir()
	for at := dir; at != os.TempDir() && at != "/"; at = at[:strings.LastIndexByte(at, '/')] {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(dir, uid, uid); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+name+"$", "-test.count=1")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
}

// TestObstacles: what stands in the way of taking something back, made by the
// step or by what it found.
func TestObstacles(t *testing.T) {
	asUser(t, "TestObstacles")
	for _, c := range []struct {
		name    string
		prepare func(d *desk) error
		do      func(t fataler, d *desk)
	}{
		{"a directory made read-only", nil, func(t fataler, d *desk) {
			d.write(t, "dir/f", "changed")
			d.remove(t, "dir/sub/g")
			d.chmod(t, "dir/sub", 0o500)
			d.chmod(t, "dir", 0o500)
		}},
		{"directories made unreadable", nil, func(t fataler, d *desk) {
			d.write(t, "dir/sub/g", "changed")
			d.mkdir(t, "dir/sub/more")
			d.chmod(t, "dir/sub", 0o300)
			d.chmod(t, "dir", 0o300)
		}},
		{"directories that nobody may search", nil, func(t fataler, d *desk) {
			d.write(t, "dir/sub/g", "changed")
			d.mkdir(t, "dir/sub/more")
			d.chmod(t, "dir/sub", 0)
			d.chmod(t, "dir", 0)
		}},
		{"a read-only file", func(d *desk) error { return os.Chmod(d.at("a"), 0o400) }, func(t fataler, d *desk) {
			d.chmod(t, "a", 0o600)
			d.write(t, "a", "changed")
			d.chmod(t, "a", 0o400)
		}},
		{"an unreadable file goes", func(d *desk) error { return os.Chmod(d.at("a"), 0) }, func(t fataler, d *desk) { d.remove(t, "a") }},
		{"an unreadable file is replaced", func(d *desk) error { return os.Chmod(d.at("a"), 0o200) }, func(t fataler, d *desk) {
			d.write(t, "b", "new")
			d.rename(t, "b", "a")
		}},
		{"a file of several names made unreadable", nil, func(t fataler, d *desk) {
			d.write(t, "l1", "changed")
			d.chmod(t, "l1", 0)
		}},
		{"a directory that moved and was made read-only", nil, func(t fataler, d *desk) {
			d.rename(t, "dir/sub", "sub")
			d.chmod(t, "sub", 0o500)
		}},
		{"an unreadable file with an attribute", func(d *desk) error {
			_ = unix.Setxattr(d.at("a"), "user.x", []byte("v"), 0)
			return os.Chmod(d.at("a"), 0o200)
		}, func(t fataler, d *desk) { d.chmod(t, "a", 0o600); d.chmod(t, "a", 0) }},
		{"a socket and a pipe", func(d *desk) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: "/proc/self/fd/" + d.openRoot() + "/socket"})
			if err == nil {
				l.SetUnlinkOnClose(false)
				l.Close()
			}
			return err
		}, func(t fataler, d *desk) { d.remove(t, "socket"); d.remove(t, "pipe"); d.write(t, "pipe", "a file") }},
		{"a running program", func(d *desk) error { return program(d) }, func(t fataler, d *desk) {
			d.write(t, "program.new", "#!/bin/sh\n")
			d.rename(t, "program.new", "program")
		}},
		{"a program starts to run", func(d *desk) error { return os.WriteFile(d.at("program"), []byte("none"), 0o755) }, func(t fataler, d *desk) {
			d.remove(t, "program")
			d.act(t, Make, d.at("program"), "", func() error { return program(d) })
		}},
		{"a sparse file of 8 GB", func(d *desk) error { return sparse(d.at("sparse")) }, func(t fataler, d *desk) { d.write(t, "sparse", "small") }},
		{"long and odd names", func(d *desk) error {
			return os.MkdirAll(d.at(strings.Repeat("\xff", 255)+"/-rf/back\\slash/new\nline"), 0o755)
		}, func(t fataler, d *desk) {
			long := strings.Repeat("\xff", 255)
			d.write(t, long+"/-rf/\\", "x")
			d.rename(t, long, strings.Repeat("\n", 255))
			d.removeAll(t, strings.Repeat("\n", 255)+"/-rf/back\\slash")
		}},
		{"types that change", nil, func(t fataler, d *desk) {
			d.removeAll(t, "dir")
			d.act(t, Make, d.at("dir"), "", func() error { return os.Symlink("/etc", d.at("dir")) })
			d.remove(t, "dir")
			d.write(t, "dir", "file")
			d.remove(t, "dir")
			d.act(t, Make, d.at("dir"), "", func() error { return unix.Mkfifo(d.at("dir"), 0o600) })
			d.remove(t, "a")
			d.mkdir(t, "a")
			d.rename(t, "a", "b")
			d.act(t, Make, d.at("a"), "", func() error { return os.Symlink("b", d.at("a")) })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			d.fill(t)
			if c.prepare != nil {
				if err := c.prepare(d); err != nil {
					t.Fatal(err)
				}
			}
			before := d.modes(t)
			begin := time.Now()
			d.begin(t)
			c.do(t, d)
			d.end(t)
			d.close(t)
			after := d.modes(t)
			if _, err := d.undo(t, Request{Steps: []uint64{1}}); err != nil {
				t.Fatalf("undo: %v", err)
			}
			if got := d.modes(t); got != before {
				t.Fatalf("after undo:\n%s", apart(got, before))
			}
			if _, err := d.undo(t, Request{Steps: []uint64{2}, Redo: true}); err != nil {
				t.Fatalf("redo: %v", err)
			}
			if got := d.modes(t); got != after {
				t.Fatalf("after redo:\n%s", apart(got, after))
			}
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func (d *desk) chmod(t fataler, name string, mode os.FileMode) {
	d.act(t, Meta, d.at(name), "", func() error { return os.Chmod(d.at(name), mode) })
}

// modes is a snapshot of what its owner may not read: nothing is changed by it
// but the mode, for a moment.
func (d *desk) modes(t *testing.T) string {
	t.Helper()
	if os.Getuid() == 0 {
		return snapshot(t, d.root)
	}
	var out strings.Builder
	for range 4 { // each round sees one level more
		cmd := exec.Command("/usr/bin/find", d.root, "-printf", "%P %y %m %s %T@ %l\\n")
		text, err := cmd.Output()
		if err == nil {
			// What is made anew may stand at another place of its directory: tmpfs lists it first.
			return out.String() + strings.Join(slices.Sorted(strings.Lines(string(text))), "")
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 2 && f[1] == "d" && f[2] != "755" {
				fmt.Fprint(&out, line)
				_ = os.Chmod(d.at(f[0]), 0o755)
				defer os.Chmod(d.at(f[0]), mode(f[2]))
			}
		}
	}
	t.Fatal("not all can be seen")
	return ""
}

func mode(octal string) (m os.FileMode) {
	for _, c := range octal {
		m = m*8 + os.FileMode(c-'0')
	}
	return m
}

// openRoot gives the number of a descriptor of the root, for names that a socket
// address has no room for.
func (d *desk) openRoot() string {
	fd, err := unix.Open(d.root, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { unix.Close(fd) })
	return fmt.Sprint(fd)
}

// program starts a program of the root.
func program(d *desk) error {
	data, err := os.ReadFile("/usr/bin/sleep")
	if err == nil {
		err = os.WriteFile(d.at("program"), data, 0o755)
	}
	if err != nil {
		return err
	}
	cmd := exec.Command(d.at("program"), "600")
	if err := cmd.Start(); err != nil {
		return err
	}
	d.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return nil
}

var sparseAt = []int64{0, 4 << 30, 8<<30 - 4}

func sparse(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, at := range sparseAt {
		if _, err := f.WriteAt([]byte("data"), at); err != nil {
			return err
		}
	}
	return nil
}

// TestSparse: what is a hole stays one, and takes no time.
func TestSparse(t *testing.T) {
	d := newDesk(t)
	if err := sparse(d.at("sparse")); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	d.begin(t)
	d.write(t, "sparse", "small")
	d.end(t)
	d.close(t)
	if _, err := d.undo(t, Request{Steps: []uint64{1}}); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Lstat(d.at("sparse"), &st); err != nil || st.Size != 8<<30 || st.Blocks*512 > 1<<20 {
		t.Errorf("%d bytes, %d blocks, %v", st.Size, st.Blocks, err)
	}
	f, err := os.Open(d.at("sparse"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, at := range sparseAt {
		data := make([]byte, 4)
		if _, err := f.ReadAt(data, at); err != nil || string(data) != "data" {
			t.Errorf("at %d: %q %v", at, data, err)
		}
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

// TestImmutable: what may not be changed now is an error and changes nothing;
// later it goes.
func TestImmutable(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("making files of somebody else takes root")
	}
	for _, name := range []string{"a", "dir", "dir/sub", "dir/made"} {
		d := newDesk(t)
		d.fill(t)
		before := snapshot(t, d.root)
		d.begin(t)
		d.write(t, "a", "changed")
		d.write(t, "dir/made", "by the step")
		d.remove(t, "dir/sub/g")
		d.end(t)
		d.close(t)
		after := snapshot(t, d.root)
		setFlag(t, d.at(name), immutable)
		_, err := d.undo(t, Request{Steps: []uint64{1}})
		got := snapshot(t, d.root)
		setFlag(t, d.at(name), 0)
		if err == nil || got != after {
			t.Errorf("%s: %v\n%s", name, err, apart(got, after))
		}
		if _, err := d.undo(t, Request{Steps: []uint64{1}}); err != nil {
			if _, err = d.undo(t, Request{Steps: []uint64{1}, Mode: journal.Force}); err != nil { // the flag was a change
				t.Errorf("%s: %v", name, err)
			}
		}
		if got := snapshot(t, d.root); got != before {
			t.Errorf("%s: after undo:\n%s", name, apart(got, before))
		}
	}
}

func setFlag(t *testing.T, path string, flags uint32) {
	t.Helper()
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, int(flags)); err != nil {
		t.Fatal(err)
	}
}

// TestDeep: directories below each other whose path is longer than any that a
// system call takes.
func TestDeep(t *testing.T) {
	levels := 2100
	if os.Getenv("CARREL_SOAK") == "1" {
		levels = 10_000
	}
	d := newDesk(t)
	bottom := deepen(t, d.root, levels)
	t.Cleanup(func() { _ = exec.Command("/bin/rm", "-rf", d.root).Run() })
	path := d.root + strings.Repeat("/d", levels)
	d.begin(t)
	leaf := Change{Op: Remove, Path: path + "/leaf"}
	if err := d.w.Before(&leaf); err != nil {
		t.Fatal(err)
	}
	err := unix.Unlinkat(bottom, "leaf", 0)
	d.w.After(&leaf, err)
	at := bottom
	for n := levels; n > 0 && err == nil; n-- {
		up, e := unix.Openat(at, "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if e != nil {
			t.Fatal(e)
		}
		unix.Close(at)
		at = up
		c := Change{Op: Remove, Path: d.root + strings.Repeat("/d", n)}
		if err = d.w.Before(&c); err == nil {
			err = unix.Unlinkat(at, "d", unix.AT_REMOVEDIR)
			d.w.After(&c, err)
		}
	}
	unix.Close(at)
	if err != nil {
		t.Fatal(err)
	}
	d.end(t)
	d.close(t)
	if _, err := d.undo(t, Request{Steps: []uint64{1}}); err != nil {
		t.Fatal(err)
	}
	fd, name, err := disk.ParentIn([]disk.Root{mustRoot(t, d.root)}, path+"/leaf")
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if st, err := disk.StateAt(fd, name, disk.WithXattrs); err != nil || st.Kind != journal.File || st.Size != 4 || string(st.Xattrs["user.x"]) != "deep" {
		t.Errorf("%+v %v", st, err)
	}
}

func mustRoot(t *testing.T, path string) disk.Root {
	t.Helper()
	r, err := disk.OpenRoot(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(r.FD) })
	return r
}

// deepen makes levels of directories named d, and gives the last.
func deepen(t *testing.T, top string, levels int) int {
	t.Helper()
	at, err := unix.Open(top, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for range levels {
		if err == nil {
			err = unix.Mkdirat(at, "d", 0o755)
		}
		var next int
		if err == nil {
			next, err = unix.Openat(at, "d", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(at)
		at = next
	}
	fd, err := unix.Openat(at, "leaf", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err == nil {
		_, err = unix.Write(fd, []byte("leaf"))
	}
	if err == nil {
		err = unix.Fsetxattr(fd, "user.x", []byte("deep"), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
	return at
}

const immutable = 0x10 // FS_IMMUTABLE_FL of linux/fs.h

// TestDeviceThatAStepRemoved: that it is not made again is told as that, and as nothing else.
func TestDeviceThatAStepRemoved(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	if err := unix.Mknod(d.at("device"), unix.S_IFCHR|0o600, 0x103); err != nil {
		t.Skip(err)
	}
	d.begin(t)
	d.remove(t, "device")
	d.write(t, "a", "changed")
	d.end(t)
	d.close(t)
	for _, mode := range []journal.Mode{journal.Abort, journal.Skip} {
		v, err := d.undo(t, Request{Steps: []uint64{1}, Mode: mode})
		if v == nil || (err == nil) != (mode == journal.Skip) {
			t.Fatalf("%v: %v", mode, err)
		}
		if lost := v.Plan.Unrestorable; len(v.Conflicts) > 0 || len(lost) != 1 || string(lost[0].Path) != d.at("device") {
			t.Errorf("%v: conflicts %+v, lost %+v", mode, v.Conflicts, lost)
		}
	}
}

// TestUndoWithinATick: the kernel's clock for files stands still for some milliseconds, so a
// directory may have the same time before and after a name in it went. Undo gives it that
// time, too.
func TestUndoWithinATick(t *testing.T) {
	for _, c := range []struct {
		name, in string
		op       Op
		change   func(at string) error
	}{
		{"dir/link", "dir", Remove, os.Remove},
		{"dir/new", "dir", Make, func(at string) error { return os.Mkdir(at, 0o755) }},
		{"empty", "", Remove, os.Remove},
	} {
		d := newDesk(t)
		d.fill(t)
		before := snapshot(t, d.root)
		d.begin(t)
		d.act(t, c.op, d.at(c.name), "", func() error { return d.still(c.in, func() error { return c.change(d.at(c.name)) }) })
		d.end(t)
		d.close(t)
		after := snapshot(t, d.root)
		for i, want := range []string{before, after} {
			if _, err := d.undo(t, Request{Steps: []uint64{uint64(i) + 1}, Redo: i == 1}); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if got := snapshot(t, d.root); got != want {
				t.Errorf("%s, redo %v:\n%s", c.name, i == 1, apart(got, want))
			}
		}
	}
}

// still changes something in a directory, and keeps its time.
func (d *desk) still(dir string, change func() error) error {
	st, err := os.Stat(d.at(dir))
	if err != nil {
		return err
	}
	return errors.Join(change(), os.Chtimes(d.at(dir), st.ModTime(), st.ModTime()))
}
