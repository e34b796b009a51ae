package stage

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// TestForkWithoutLabel: where labels could be given, a command without its label is not
// started; where they never could, it is. In a process of its own: a hard limit that is
// lowered stays so.
func TestForkWithoutLabel(t *testing.T) {
	const variable = "CARREL_TEST_FORK"
	if os.Getenv(variable) == "" {
		for _, when := range []string{"before", "after", "never"} {
			cmd := exec.Command("/proc/self/exe", "-test.run=^TestForkWithoutLabel$")
			cmd.Env = append(os.Environ(), variable+"="+when)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("lowered %s: %v\n%s", when, err, out)
			}
		}
		return
	}
	lower := func() {
		if err := unix.Setrlimit(unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: 10, Max: 10}); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getenv(variable) == "never" { // it has a label, as inside another workspace
		sandbox.SetLabel(7)
		if can, own := sandbox.PrepareLabels(), sandbox.LabelOf(0); !can || own != 7 {
			t.Errorf("labels can be given: %v; its own is %d", can, own)
		}
		return
	}
	c := &sandbox.Command{Argv: []string{"true"}, Env: []string{}, Dir: "/", Label: 5}
	before := os.Getenv(variable) == "before"
	if before {
		lower()
	}
	s := &server{labels: sandbox.PrepareLabels()}
	if s.labels == before {
		t.Fatalf("labels can be given: %v", s.labels)
	}
	start := func() error {
		pid, err := s.fork("/bin/true", c, []uintptr{0, 1, 2})
		if err == nil {
			_, err = syscall.Wait4(pid, nil, 0, nil)
		}
		return err
	}
	if err := start(); err != nil {
		t.Fatalf("at first: %v", err)
	}
	if _, had, err := sandbox.LookLabel(os.Getpid()); !had || err != nil {
		t.Errorf("what it starts would not be listed: %v", err)
	}
	if before {
		return
	}
	lower()
	if err := start(); !errors.Is(err, errLabel) {
		t.Errorf("without a label: %v", err)
	}
	c.Label = 0
	if err := start(); err != nil {
		t.Errorf("that wants none: %v", err)
	}
}
