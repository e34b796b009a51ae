package landlock

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A domain cannot be left, so that real ones are entered in a child: this test
// binary, told by the environment what to apply and what to try.
const orderVariable = "CARREL_TEST_LANDLOCK"

// order is what a child does.
type order struct {
	Ruleset *Ruleset // nil: none, for comparison
	Try     string   // name in attempts
	Dir     string   // where it tries
	Outside int      // a process outside the domain
	Name    string   // an abstract socket outside the domain
}

// result is what a child found: the errno of each thing that it tried.
type result struct {
	Applied Applied
	Errno   map[string]int
}

func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(orderVariable); ok {
		if err := obey(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(99)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func obey(text string) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	runtime.LockOSThread()
	var r result
	if o.Ruleset != nil {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
		var err error
		if r.Applied, err = Apply(*o.Ruleset); err != nil {
			return err
		}
	}
	r.Errno = attempts[o.Try](o)
	return json.NewEncoder(os.Stdout).Encode(r)
}

// child runs o in a child; namespaces are clone flags for it.
func child(t testing.TB, o order, namespaces uintptr) result {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), orderVariable+"="+string(text))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: namespaces}
	if namespaces != 0 {
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("child %s: %v\n%s%s", o.Try, err, out, stderr.String())
	}
	var r result
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("child %s printed %q: %v", o.Try, out, err)
	}
	return r
}

// needABI skips where the kernel is too old for a test, and says so.
func needABI(t testing.TB, needed int) int {
	t.Helper()
	abi, err := ABI()
	if err != nil {
		t.Fatal(err)
	}
	if abi < needed {
		t.Skipf("needs Landlock ABI %d, this kernel has ABI %d (0: none)", needed, abi)
	}
	return abi
}

// errnoOf makes a number of err: 0 for none, -1 for an error that is no errno.
func errnoOf(err error) int {
	var errno syscall.Errno
	switch {
	case err == nil:
		return 0
	case errors.As(err, &errno):
		return int(errno)
	}
	fmt.Fprintln(os.Stderr, err)
	return -1
}
