package seccomp

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"carrel/internal/policy"
	"carrel/internal/seccomp/install"
)

// A filter cannot be taken off again, so that real ones are installed in a
// child: this test binary, told by the environment to install a filter and
// execute its arguments, or to run a probe and print what it found.
const (
	filterVariable = "CARREL_TEST_FILTER" // nesting level, with "+debug" or not
	probeVariable  = "CARREL_TEST_PROBE"  // name in probes
)

func TestMain(m *testing.M) {
	if level, ok := os.LookupEnv(filterVariable); ok {
		os.Unsetenv(filterVariable)
		die(installAndExec(level, os.Args[1:]))
	}
	if how, ok := os.LookupEnv(trapVariable); ok {
		os.Unsetenv(trapVariable)
		die(trapAndExec(how))
	}
	if name, ok := os.LookupEnv(callerVariable); ok {
		die(json.NewEncoder(os.Stdout).Encode(callers[name]()))
	}
	if name, ok := os.LookupEnv(probeVariable); ok {
		die(json.NewEncoder(os.Stdout).Encode(probes[name]()))
	}
	os.Exit(m.Run())
}

func die(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	os.Exit(0)
}

func installAndExec(level string, argv []string) error {
	prog, err := Build(parseLevel(level))
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := installPlain(prog); err != nil {
		return err
	}
	return syscall.Exec(argv[0], argv, os.Environ())
}

// installPlain puts prog on this thread as the stage does, without a listener.
func installPlain(prog []Instruction) error {
	_, err := install.Filter(Marshal(prog), false)
	return err
}

func parseLevel(level string) Options {
	arch, err := HostArch()
	if err != nil {
		panic(err)
	}
	nesting, debug := strings.CutSuffix(level, "+debug")
	return Options{Arch: arch, Nesting: policy.Nesting(nesting), Debug: debug}
}

// behind returns a command that runs under the filter of level, in a session
// of its own; level "" is no filter, for comparison.
func behind(t testing.TB, level string, argv ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if argv[0] == "self" {
		argv[0] = self
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		t.Skipf("needs %s on this machine: %v", argv[0], err)
	}
	argv[0] = path
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = os.Environ()
	if level != "" {
		cmd = exec.Command(self, argv...)
		cmd.Env = append(os.Environ(), filterVariable+"="+level)
	}
	cmd.Dir = t.TempDir()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// probe runs a probe under the filter of level and returns what it printed.
func probe(t testing.TB, level, name string) map[string]int {
	t.Helper()
	cmd := behind(t, level, "self")
	cmd.Env = append(cmd.Env, probeVariable+"="+name)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("probe %s at level %q: %v\n%s%s", name, level, err, out, stderr.String())
	}
	var found map[string]int
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatalf("probe %s at level %q printed %q: %v", name, level, out, err)
	}
	return found
}

var levels = []string{"none", "none+debug", "userns+debug", "full+debug"}

// errnoOf makes the number of an error for the tables of probes: 0 for none,
// -1 for an error that is no errno.
func errnoOf(err error) int {
	if err == nil {
		return 0
	}
	for {
		if errno, ok := err.(syscall.Errno); ok {
			return int(errno)
		}
		inner, ok := err.(interface{ Unwrap() error })
		if !ok {
			fmt.Fprintln(os.Stderr, err)
			return -1
		}
		err = inner.Unwrap()
	}
}
