package doctor

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel/internal/sandbox"
)

// healthy is a machine on which everything works.
func healthy() *Machine {
	return &Machine{
		OS: "linux", UID: 1000, Release: "6.12.1", Self: "/usr/local/bin/carrel",
		Getenv: func(string) string { return "" },
		Read: func(path string) (string, error) {
			if path == "/proc/self/cgroup" {
				return "0::/user.slice\n", nil
			}
			return "", fs.ErrNotExist
		},
		Exists:    func(string) bool { return false },
		Locked:    func(path string) bool { return strings.HasPrefix(path, "/usr/") },
		First:     func() bool { return false },
		Find:      func(program string) string { return "/usr/bin/" + program },
		Namespace: func(...Kind) error { return nil },
		Memory:    func() error { return nil },
		Try:       func(Trial) error { return nil },
		Landlock:  func() (int, error) { return 6, nil },
		Cgroup:    func(string) error { return nil },
		State: func() Place {
			const at = "/h/.local/state/carrel"
			return Place{Path: at, Exists: true, Nearest: at, Safe: true, Owned: true, Free: 50 << 30, Files: 1 << 20, Known: true}
		},
		Places: func() []Place { return []Place{{Path: "/h", Exists: true, Nearest: "/h"}} },
	}
}

// The changes that tests make to a healthy machine.
type change func(*Machine)

func files(content map[string]string) change {
	return func(m *Machine) {
		before, existed := m.Read, m.Exists
		m.Read = func(path string) (string, error) {
			if text, ok := content[path]; ok {
				return text, nil
			}
			return before(path)
		}
		m.Exists = func(path string) bool { _, ok := content[path]; return ok || existed(path) }
	}
}

func sysctl(name, value string) change {
	return files(map[string]string{"/proc/sys/" + strings.ReplaceAll(name, ".", "/"): value + "\n"})
}

func environment(name, value string) change {
	return func(m *Machine) {
		m.Getenv = func(n string) string {
			if n == name {
				return value
			}
			return ""
		}
	}
}

// refuseNamespaces refuses the kind, and "" all user namespaces.
func refuseNamespaces(kind Kind, errno syscall.Errno) change {
	return func(m *Machine) {
		m.Namespace = func(kinds ...Kind) error {
			if kind == "" || slices.Contains(kinds, kind) {
				return &sandbox.SetupError{Step: "creating namespaces", Err: errno.Error(), Code: int(errno)}
			}
			return nil
		}
	}
}

func refuseTrial(errno syscall.Errno, trials ...Trial) change {
	return func(m *Machine) {
		m.Try = func(asked Trial) error {
			if slices.Contains(trials, asked) {
				return &sandbox.SetupError{Step: "trying", Err: errno.Error(), Code: int(errno)}
			}
			return nil
		}
	}
}

func refuseMemory(errno syscall.Errno) change {
	return func(m *Machine) { m.Memory = func() error { return errno } }
}

func refuseGroups(err error) change {
	return func(m *Machine) { m.Cgroup = func(string) error { return err } }
}

func place(s Place) change    { return func(m *Machine) { m.State = func() Place { return s } } }
func release(r string) change { return func(m *Machine) { m.Release = r } }
func self(path string) change { return func(m *Machine) { m.Self = path } }
func landlockABI(n int) change {
	return func(m *Machine) { m.Landlock = func() (int, error) { return n, nil } }
}
func without(m *Machine) { m.Find = func(string) string { return "" } }
func root(m *Machine)    { m.UID = 0 }

func TestHealthy(t *testing.T) {
	m := healthy()
	withLima()(m)
	r := Examine(m)
	if !r.Ready || r.Format != Format {
		t.Errorf("ready %v, format %d: %v", r.Ready, r.Format, r.Lacking())
	}
	seen := make(map[string]bool)
	for _, c := range r.Checks {
		if c.Status != OK || c.Fix != "" || c.Commands != nil || c.Cause != "" || c.Found == "" {
			t.Errorf("%s: %s, cause %q, found %q, fix %q", c.Name, c.Status, c.Cause, c.Found, c.Fix)
		}
		if c.ID == "" || seen[c.ID] {
			t.Errorf("%s: ID %q is none, or another check's", c.Name, c.ID)
		}
		seen[c.ID] = true
	}
}

// row is one simulated machine: nothing here is the machine that the test runs
// on. The real ones are in the end-to-end tests.
type row struct {
	name    string
	changes []change
	check   string
	status  Status
	cause   Cause
	advice  string // part of the fix or of a command
	ready   bool
}

func TestSimulated(t *testing.T) {
	for _, rows := range [][]row{simulatedRefusals, simulatedKernels, simulatedPlaces, simulatedLima, simulatedContainers} {
		for _, tt := range rows {
			t.Run(tt.name, func(t *testing.T) {
				m := healthy()
				for _, c := range tt.changes {
					c(m)
				}
				r := Examine(m)
				c := r.Check(tt.check)
				if c == nil {
					t.Fatalf("no check %q", tt.check)
				}
				advice := c.Fix + "\n" + strings.Join(c.Commands, "\n")
				if c.Status != tt.status || c.Cause != tt.cause || !strings.Contains(advice, tt.advice) || r.Ready != tt.ready {
					t.Errorf("got %s, cause %q, ready %v, found %q, advice:\n%s\nwant %s, cause %q, ready %v, advice with %q",
						c.Status, c.Cause, r.Ready, c.Found, advice, tt.status, tt.cause, tt.ready, tt.advice)
				}
				if c.Status != OK && c.Means == "" {
					t.Error("it does not say what follows")
				}
				if !tt.ready && !slices.Contains(r.Lacking(), c.Name) && c.Needed {
					t.Errorf("lacking %v does not name %q", r.Lacking(), c.Name)
				}
			})
		}
	}
}

// TestSkipped: one refusal is reported once, not as a list of consequences.
func TestSkipped(t *testing.T) {
	m := healthy()
	refuseNamespaces("", syscall.EPERM)(m)
	m.Try = func(trial Trial) error { t.Errorf("%s was tried without namespaces", trial); return nil }
	m.Memory = func() error { t.Error("memory was tried without namespaces"); return nil }
	if got := Examine(m).Lacking(); len(got) != 1 || got[0] != "user namespaces" {
		t.Errorf("lacking %q, want user namespaces alone", got)
	}
}

// TestProbesEnd: what hangs is one refusal among the others' answers.
func TestProbesEnd(t *testing.T) {
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	m := healthy()
	m.Patience = 20 * time.Millisecond
	m.Try = func(Trial) error { <-hang; return nil }
	m.Cgroup = func(string) error { <-hang; return nil }
	m.Memory = func() error { <-hang; return nil }
	m.State = func() Place { <-hang; return Place{} }
	m.Places = func() []Place { <-hang; return nil }
	start := time.Now()
	r := Examine(m)
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	for _, id := range []string{"network-namespaces", "cgroups", "memory"} {
		if c := r.Check(id); c.Status == OK || c.Errno != "ETIMEDOUT" {
			t.Errorf("%s: %+v", id, c)
		}
	}
	if c := r.Check("user-namespaces"); c.Status != OK || r.Ready {
		t.Errorf("user namespaces: %+v, ready %v", c, r.Ready)
	}
}

func TestOtherSystem(t *testing.T) {
	if r := Examine(&Machine{OS: "darwin"}); r.Ready || len(r.Checks) != 1 || !strings.Contains(r.Checks[0].Fix, "Linux") {
		t.Errorf("got %+v", r)
	}
}

func TestVersion(t *testing.T) {
	tests := []struct {
		release      string
		major, minor int
		ok           bool
	}{
		{"6.18.44-fc-v669", 6, 18, true},
		{"5.15", 5, 15, true},
		{"6.8-rc1", 6, 8, true},
		{"5.15.167.4-microsoft-standard-WSL2", 5, 15, true},
		{"", 0, 0, false},
		{"six", 0, 0, false},
		{"6.", 0, 0, false},
	}
	for _, tt := range tests {
		major, minor, ok := version(tt.release)
		if ok != tt.ok || ok && (major != tt.major || minor != tt.minor) {
			t.Errorf("version(%q) = %d, %d, %v", tt.release, major, minor, ok)
		}
	}
}

var errNoErrno = errors.New("no errno in this")

// TestHangingProbes: a process that is asked again and again leaves so many probes behind, and
// no more.
func TestHangingProbes(t *testing.T) {
	release, started := make(chan struct{}), make(chan struct{}, 2*maxHanging)
	for range 2 * maxHanging {
		err := within(time.Millisecond, func() error { started <- struct{}{}; <-release; return nil })
		if !errors.Is(err, syscall.ETIMEDOUT) {
			t.Fatalf("a probe that hangs: %v", err)
		}
	}
	if n := len(started); n > maxHanging {
		t.Errorf("%d probes hang", n)
	}
	close(release)
	for deadline := time.Now().Add(10 * time.Second); len(hanging) > 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if err := within(10*time.Second, func() error { return nil }); err != nil {
		t.Errorf("after they have gone on: %v", err)
	}
}
