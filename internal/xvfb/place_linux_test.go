package xvfb

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// holder has a test process of its own claim numbers until its input ends.
const holder = "XVFB_TEST_HOLD"

// besieged has a test process bind all names up to Last and then do as a holder does.
const besieged = "XVFB_TEST_BESIEGED"

func TestMain(m *testing.M) {
	if os.Getenv(besieged) != "" {
		bindAll()
	}
	if base := os.Getenv(holder); base != "" {
		for range 5 {
			p, err := Claim(base)
			if err != nil {
				fmt.Println(err)
				continue
			}
			fmt.Println(p.Number)
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0) // as if killed: nothing is given back
	}
	os.Exit(m.Run())
}

// bindAll holds the abstract names of all numbers that are taken in order.
func bindAll() {
	_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 4096, Max: 4096})
	for n := First; n <= Last; n++ {
		if _, err := bindAbstract(n); err != nil {
			fmt.Println(n, err)
		}
	}
}

// TestClaimBesieged: whoever binds the names of all numbers that are taken in order keeps
// nobody from having one, nor what is left of it from being removed. The names are those
// of a network of the test's own.
func TestClaimBesieged(t *testing.T) {
	base := filepath.Join(t.TempDir(), "displays")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holder+"="+base, besieged+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	}
	out, err := cmd.Output()
	if errors.Is(err, unix.EPERM) && os.Getuid() != 0 {
		t.Skip("making a network namespace takes root")
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	held := make(map[int]bool)
	for line := range strings.Lines(string(out)) {
		n, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil || n <= Last || n > Highest || held[n] {
			t.Errorf("got %q", line)
		}
		held[n] = true
		if _, err := os.Stat(filepath.Join(base, strconv.Itoa(n), "server")); err != nil {
			t.Error(err)
		}
	}
	if len(held) != 5 {
		t.Errorf("%d numbers, want 5: %s", len(held), out)
	}
	Sweep(base)
	if entries, _ := os.ReadDir(base); len(entries) != 0 {
		t.Errorf("%d directories are left", len(entries))
	}
}

// TestClaimWithoutDescriptors says what is missing, and not that the numbers are in use.
func TestClaimWithoutDescriptors(t *testing.T) {
	base := filepath.Join(t.TempDir(), "displays")
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	next, err := unix.Dup(0)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(next)
	few := unix.Rlimit{Cur: uint64(next) + 1, Max: limit.Max} // one, for the directory
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	p, err := Claim(base)
	if back := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); back != nil {
		t.Fatal(back)
	}
	if !errors.Is(err, unix.EMFILE) || !strings.Contains(err.Error(), "taking display number") {
		t.Errorf("%v, %v", p, err)
	}
}

// TestClaimManyTogether: twenty from four processes are distinct, and what they leave
// when they are killed is taken again.
func TestClaimManyTogether(t *testing.T) {
	base := filepath.Join(t.TempDir(), "displays")
	type process struct {
		cmd   *exec.Cmd
		lines *bufio.Scanner
		end   io.Closer
	}
	var all []process
	for range 4 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), holder+"="+base)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, process{cmd, bufio.NewScanner(out), in})
	}
	held := make(map[int]bool)
	for _, p := range all {
		for range 5 {
			p.lines.Scan()
			n, err := strconv.Atoi(p.lines.Text())
			if err != nil || held[n] || n < First || n > Last {
				t.Errorf("got %q, held are %v", p.lines.Text(), held)
			}
			held[n] = true
		}
	}
	Sweep(base)
	if entries, _ := os.ReadDir(base); len(entries) != 20 {
		t.Errorf("%d directories while 20 are held", len(entries))
	}
	for _, p := range all {
		p.end.Close()
		if err := p.cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if entries, _ := os.ReadDir(base); len(entries) != 20 {
		t.Errorf("%d directories are left of 20", len(entries))
	}
	p, err := Claim(base)
	if err != nil || !held[p.Number] {
		t.Fatalf("after they were killed: %v, %v", p, err)
	}
	Sweep(base)
	if entries, _ := os.ReadDir(base); len(entries) != 1 {
		t.Errorf("%d directories after sweeping, one is held", len(entries))
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(base); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// TestClaimGoesAround numbers that others use on this machine: by abstract name, by
// the marks that servers leave in /tmp. Nothing of them is touched.
func TestClaimGoesAround(t *testing.T) {
	base := filepath.Join(t.TempDir(), "displays")
	first, err := Claim(base)
	if err != nil {
		t.Fatal(err)
	}
	n := first.Number
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", "@"+socketName+strconv.Itoa(n))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	lock := fmt.Sprintf(lockName, n+1)
	if err := os.WriteFile(lock, []byte("       1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(lock)
	p, err := Claim(base)
	if err != nil || p.Number == n || p.Number == n+1 {
		t.Fatalf("claimed %v, %v around %d and %d", p, err, n, n+1)
	}
	defer p.Close()
	if _, err := os.Stat(lock); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("unix", "@"+socketName+strconv.Itoa(p.Number)); err == nil {
		c.Close()
		t.Error("somebody listens at the abstract name")
	}
}

// TestClaimRefusesPlaces that others could write.
func TestClaimRefusesPlaces(t *testing.T) {
	open := t.TempDir()
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{open, file, file + "/below"} {
		if p, err := Claim(base); err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(base, "/below")) {
			t.Errorf("%s: %v, %v", base, p, err)
		}
	}
}

// TestSweepLeaves what is not a display's directory, and does not follow links.
func TestSweepLeaves(t *testing.T) {
	base, elsewhere := t.TempDir(), t.TempDir()
	keep := filepath.Join(elsewhere, "keep")
	for _, dir := range []string{keep, base + "/999", base + "/01000", base + "/x", base + "/1500/server"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, at := range []string{base + "/1501", base + "/1500/server/X1500"} {
		if err := os.Symlink(elsewhere, at); err != nil {
			t.Fatal(err)
		}
	}
	Sweep(base)
	for _, path := range []string{keep, base + "/999", base + "/01000", base + "/x", base + "/1501"} {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(base + "/1500"); err == nil {
		t.Error("1500 is left")
	}
}

// TestListen works with paths that fit into no socket address.
func TestListen(t *testing.T) {
	base := filepath.Join(t.TempDir(), strings.Repeat("long/", 30), "displays")
	p, err := Claim(base)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	fd, err := p.Listen(filepath.Join(p.InsideDir(), p.Socket()))
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "listener")
	defer f.Close()
	if st, err := os.Stat(filepath.Join(p.InsideDir(), p.Socket())); err != nil || st.Mode().Type() != os.ModeSocket {
		t.Errorf("%v, %v", st, err)
	}
}

func TestReadNames(t *testing.T) {
	text := "Num       RefCount Protocol Flags    Type St Inode Path\n" +
		"0000000000000000: 00000002 00000000 00010000 0001 01 1234 @/tmp/.X11-unix/X1003\n" +
		"0000000000000000: 00000002 00000000 00010000 0001 01 1235 /tmp/.X11-unix/X1004\n" +
		"0000000000000000: 00000002 00000000 00010000 0001 01 1236 @/tmp/.X11-unix/Xno\n"
	if got := readNames(strings.NewReader(text)); len(got) != 1 || !got[1003] {
		t.Errorf("got %v", got)
	}
}

// TestClaimBesideWhatCannotBeRemoved: a server that was taken over has left a tree in
// its directory that its user cannot remove at once. Only its number is lost.
func TestClaimBesideWhatCannotBeRemoved(t *testing.T) {
	base := t.TempDir()
	if err := os.Chmod(base, 0o700); err != nil {
		t.Fatal(err)
	}
	first, err := Claim(base)
	if err != nil {
		t.Fatal(err)
	}
	stuck := filepath.Join(first.ServerDir(), "stuck")
	if err := os.MkdirAll(filepath.Join(stuck, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 {
		if err := os.Chmod(stuck, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(stuck, 0o700) })
	} else { // root removes everything but what something is mounted on
		if err := unix.Mount("tmpfs", stuck, "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Unmount(stuck, unix.MNT_DETACH) })
	}
	if first.Close() == nil {
		t.Fatal("it was removed")
	}
	second, err := Claim(base)
	if err != nil || second.Number == first.Number {
		t.Fatalf("the next one: %v, %v", second, err)
	}
	_ = second.Close()
}
