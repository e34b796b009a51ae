package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"carrel/internal/policy"

	"golang.org/x/sys/unix"
)

// TestLabels: a label is inherited, is read from outside in both ways that there are, and leaves a
// mark that does not go away with it. In a process of its own, as a lowered limit stays so.
func TestLabels(t *testing.T) {
	const variable = "CARREL_TEST_LABEL"
	if os.Getenv(variable) == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestLabels$")
		cmd.Env = append(os.Environ(), variable+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if label, had, err := LookLabel(0); label != 0 || had || err != nil {
		t.Errorf("at first: %d, %v, %v", label, had, err)
	}
	for _, label := range []uint64{1, maxLabel - 1} {
		if !SetLabel(label) || LabelOf(0) != label {
			t.Fatalf("%d is set as %d", label, LabelOf(0))
		}
		child := exec.Command("sleep", "300")
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", child.Process.Pid))
		parsed, bad := ParseLabel(text)
		if err != nil || bad != nil || parsed != label || LabelOf(child.Process.Pid) != label {
			t.Errorf("a child has %d, and %d by its limits: %v, %v", LabelOf(child.Process.Pid), parsed, err, bad)
		}
		_ = child.Process.Kill()
		_ = child.Wait()
		if _, _, err := LookLabel(child.Process.Pid); err != unix.ESRCH {
			t.Errorf("a process that has ended: %v", err)
		}
	}
	if !SetLabel(0) {
		t.Error("a label cannot be taken away")
	}
	text, err := os.ReadFile("/proc/self/limits")
	if label, bad := ParseLabel(text); err != nil || bad != nil || label != 0 {
		t.Errorf("taken away: %d, %v, %v", label, err, bad)
	}
	if label, had, err := LookLabel(0); label != 0 || !had || err != nil {
		t.Errorf("it had one: %d, %v, %v", label, had, err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: labelBase + 5, Max: labelBase + 5}); err != nil {
		t.Fatal(err)
	}
	if SetLabel(6) || PrepareLabels() || !SetLabel(4) {
		t.Error("a label above a limit that is lowered is set, or one below is not")
	}
}

// TestParseLabel: no text of limits makes a label of what is none.
func TestParseLabel(t *testing.T) {
	const head = "Limit                     Soft Limit           Hard Limit           Units\n" +
		"Max cpu time              unlimited            unlimited            seconds\n"
	for text, want := range map[string]uint64{
		head + "Max realtime timeout      1125899906842631     4503599627370496     us\n":             7,
		head + "Max realtime timeout      unlimited            unlimited            us\n":             0,
		head + "Max realtime timeout      200000               200000               us\n":             0,
		head + fmt.Sprintf("Max realtime timeout  %d  %d us\n", uint64(labelBase), uint64(labelBase)): 0,
		head + fmt.Sprintf("Max realtime timeout  %d  1 us\n", uint64(labelBase+maxLabel)):            0,
	} {
		if got, err := ParseLabel([]byte(text)); got != want || err != nil {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", head, head + "Max realtime timeout ", head + "Max realtime timeout  x",
		head + "Max realtime timeout 99999999999999999999 1 us",
		"Max realtime timeout 1125899906842631 1 us"} {
		if got, err := ParseLabel([]byte(text)); err == nil || got != 0 {
			t.Errorf("%q: %d without an error", text, got)
		}
	}
}

// TestUserLimits: what a level of nesting forbids the kernel forbids, what it allows is bounded, and a
// workspace has a part of what the user may watch.
func TestUserLimits(t *testing.T) {
	for _, c := range []struct {
		nested   policy.Nesting
		uid      uint32
		inotify  Inotify
		zero     string
		instance uint64
		watches  uint64
	}{
		{policy.NestedNone, 1000, Inotify{}, "max_user_namespaces", inotifyInstances, 0},
		{policy.NestedUserns, 1000, Inotify{128, 0}, "max_mnt_namespaces", 32, 0},
		{policy.NestedFull, 1000, Inotify{3, 1}, "", 1, 1}, {policy.NestedFull, 0, Inotify{128, 65536}, "max_cgroup_namespaces", 32, 32768},
	} {
		p := compile(t, func(in *Input) { in.UID, in.Inotify, in.Policy.Nested = c.uid, c.inotify, c.nested })
		got := make(map[string]uint64)
		var zero []string
		for _, l := range p.UserLimits {
			if _, twice := got[l.Name]; twice {
				t.Errorf("%s: %s twice", c.nested, l.Name)
			}
			if got[l.Name] = l.Value; l.Value == 0 {
				zero = append(zero, l.Name)
			}
		}
		if strings.Join(zero, " ") != c.zero || got["max_inotify_instances"] != c.instance || got["max_inotify_watches"] != c.watches {
			t.Errorf("%s of %d: %v, want %+v", c.nested, c.uid, got, c)
		}
		if want := map[bool]int{true: 1, false: len(namespaceKinds)}[c.nested == policy.NestedNone]; len(got)-1-min(1, int(c.watches)) != want {
			t.Errorf("%s of %d: %d limits of namespaces, want %d", c.nested, c.uid, len(got)-1, want)
		}
	}
}

// TestWeaker: an engine that is weaker says in what, and ours is not.
func TestWeaker(t *testing.T) {
	for e, want := range map[Engine]int{EngineNamespaces: 0, EngineContainer: 0, EngineNone: 1, EngineBubblewrap: 4,
		EngineLandlock: len(weakerAlone)} {
		if got := e.Weaker(true); len(got) != want {
			t.Errorf("%s: %q", e, got)
		}
	}
	if got := EngineBubblewrap.Weaker(false); len(got) != 5 || !strings.Contains(got[4], "/run/carrel") {
		t.Errorf("without Landlock: %q", got)
	}
}

// TestRefusedNamespaces: another engine is tried where the system refuses namespaces, and not for any
// other trouble, which it would hide.
func TestRefusedNamespaces(t *testing.T) {
	for err, want := range map[error]bool{
		namespaceError(unix.EPERM): true, namespaceError(fmt.Errorf("fork: %w", unix.ENOSPC)): true, namespaceError(unix.ENOMEM): false,
		&SetupError{Step: "mounting", Code: int(unix.EPERM)}: false, unix.EPERM: false,
	} {
		if got := (&Stage{err: err}).Refused(); (got != nil) != want {
			t.Errorf("%v: %v", err, got)
		}
	}
	if (*Stage)(nil).Refused() != nil || (&Stage{}).Refused() != nil {
		t.Error("no stage was refused")
	}
}
