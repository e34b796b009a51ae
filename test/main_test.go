//go:build linux

// Package e2e tests the real program from outside: it builds carrel, runs it
// as root and as an ordinary user (or as whoever runs the tests), and asserts
// effects on the host.
//
// A world is one person with a home, a project and a copy of the program. An
// attack is a small Go function, run by name in a process of its own, outside
// and inside the walls. A canary is the same attack outside: where it does not
// succeed, the attack is broken and the test fails, so that "refused inside"
// always means that the walls refused it.
//
// Scenarios are longer when CARREL_SOAK is 1. CARREL_TEST_BINARY names a program
// to test instead of a freshly built one, CARREL_TEST_NPM the directory with
// the agents' own programs. The package must not import any
// package of the program: it knows what a user knows.
package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// attackName is the name under which the test binary acts as an attacker.
const attackName = "attack"

// built is what TestMain prepares for all tests.
var built struct {
	base   string // directory of all worlds, removed at the end
	carrel string // the program under test
	attack string // the test binary, for use inside
}

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == attackName {
		os.Exit(attackMain(os.Args[1:]))
	}
	code, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

// heedSignals undoes what a shell does for programs in the background, and nohup: they
// ignore signals, and so would every program that a test starts and sends one. What came
// to this process itself is ignored still.
func heedSignals() {
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTERM} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

func runAll(m *testing.M) (code int, err error) {
	heedSignals()
	if built.base, err = makeBase(); err != nil {
		return 1, err
	}
	defer os.RemoveAll(built.base)
	bin := filepath.Join(built.base, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return 1, err
	}
	built.carrel, built.attack = filepath.Join(bin, "carrel"), filepath.Join(bin, attackName)
	if given := os.Getenv("CARREL_TEST_BINARY"); given != "" {
		err = copyFile(given, built.carrel, 0o755)
		for _, beside := range []string{"carrel-stage", "carrel-relay", "carrel-gvisor"} {
			err = errors.Join(err, copyFile(filepath.Join(filepath.Dir(given), beside), bin+"/"+beside, 0o755))
		}
	} else {
		err = buildPrograms(bin)
	}
	if err != nil {
		return 1, err
	}
	self, err := os.Executable()
	if err != nil {
		return 1, err
	}
	if err := copyFile(self, built.attack, 0o755); err != nil {
		return 1, err
	}
	if err := wallsAreUp(); err != nil {
		return 1, err
	}
	before := mountPoints()
	code = m.Run()
	err = errors.Join(removeContainers(), removeNamedUser())
	others := filepath.Join(os.TempDir(), "Test") // of packages that are tested at the same time
	worlds := filepath.Join(filepath.Dir(built.base), basePrefix)
	for point := range mountPoints() {
		another := strings.HasPrefix(point, others) || strings.HasPrefix(point, worlds) && !strings.HasPrefix(point, built.base+"/")
		if !before[point] && !another {
			err = errors.Join(err, fmt.Errorf("mount left behind: %s", point))
		}
	}
	return code, err
}

// wallsAreUp looks, without attacking anything, whether a command runs in
// namespaces of its own for everybody whom the tests run as. Where it does not,
// no test is run: as root, some attacks would then meet the machine itself.
func wallsAreUp() error {
	for _, p := range people() {
		for _, nested := range nestings {
			dir := built.base + "/look"
			if err := errors.Join(os.MkdirAll(dir+"/desk", 0o755), os.Chown(dir, p.uid, p.gid), os.Chown(dir+"/desk", p.uid, p.gid)); err != nil {
				return err
			}
			cmd := exec.Command(built.carrel, "run", "--nested", nested, "--", "/bin/sh", "-c", "for n in user mnt pid; do readlink /proc/self/ns/$n; done")
			cmd.Dir, cmd.Env = dir+"/desk", []string{"HOME=" + dir, "PATH=/usr/bin:/bin"}
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.credential()}
			var said strings.Builder
			cmd.Stderr = &said
			out, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("looking for the walls as %s: %w: %s", p.name, err, said.String())
			}
			inside := strings.Fields(string(out))
			if len(inside) != 3 || inside[0] == own("user") || inside[1] == own("mnt") || inside[2] == own("pid") {
				return fmt.Errorf("NO WALLS as %s at level %s: the command runs in the namespaces %q of the tests; nothing was attacked", p.name, nested, inside)
			}
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// basePrefix begins the names of those directories.
const basePrefix = "carrel-e2e-"

// makeBase makes the directory of all worlds: outside of /tmp, which is
// private inside, and reachable for the ordinary user.
func makeBase() (string, error) {
	parent := "/var/lib"
	if os.Getuid() != 0 {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		parent = cache
		if err := os.MkdirAll(parent, 0o700); err != nil {
			return "", err
		}
	}
	dir, err := os.MkdirTemp(parent, basePrefix)
	if err != nil {
		return "", err
	}
	spread(dir)
	return dir, os.Chmod(dir, 0o755)
}

// spread asks ext4 to put the directories made in dir far from each other. Without a
// journal, ext4 looks at each inode nearby that was removed in the last minutes whenever it
// makes one; the worlds would spend a fifth of all processor time on each other's. Other
// file systems do not know the wish.
func spread(dir string) {
	const topDirectory = 0x20000 // FS_TOPDIR_FL
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	if flags, err := unix.IoctlGetUint32(int(d.Fd()), unix.FS_IOC_GETFLAGS); err == nil {
		_ = unix.IoctlSetPointerInt(int(d.Fd()), unix.FS_IOC_SETFLAGS, int(flags|topDirectory))
	}
}

// buildPrograms builds our own program and its first process in the walls, without the
// tables for debuggers: each world has a copy.
func buildPrograms(dir string) error {
	names := []string{"carrel", "carrel-stage", "carrel-relay", "carrel-gvisor"}
	args := []string{"build", "-ldflags=-s -w", "-o", dir + "/"}
	for _, name := range names {
		args = append(args, "carrel/cmd/"+name)
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the programs: %w\n%s", err, out)
	}
	var err error
	for _, name := range names {
		err = errors.Join(err, os.Chmod(dir+"/"+name, 0o755))
	}
	return err
}

// copyFile copies a program in a process of its own: a writable descriptor in
// this one could be inherited by a process that is just being forked for
// another test, and would make the copy's first start fail with ETXTBSY.
func copyFile(from, to string, perm os.FileMode) error {
	if out, err := exec.Command("cp", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copying a program: %w: %s", err, out)
	}
	return os.Chmod(to, perm)
}

// mountPoints lists the mounts of this process.
func mountPoints() map[string]bool {
	points := make(map[string]bool)
	data, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 4 {
			points[f[4]] = true
		}
	}
	return points
}

// soaking says whether scenarios are to take as long as they like.
var soaking = os.Getenv("CARREL_SOAK") == "1"

// often is how much of something is done each time, and how much when soaking.
func often[T any](usual, soaked T) T {
	if soaking {
		return soaked
	}
	return usual
}
