package lima

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel/internal/broker"
	"carrel/internal/interceptor"

	"golang.org/x/sys/unix"
)

// machineOrSkip says that even a pretended machine cannot be made here.
func machineOrSkip(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting a file system takes root")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("no /dev/fuse here")
	}
}

// TestLifeOfAMachine: it is made once, told apart from one of another template, made anew,
// and taken away when its workspace is gone.
func TestLifeOfAMachine(t *testing.T) {
	machineOrSkip(t)
	ctx := context.Background()
	p, err := fakeProgram(t)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = p.Prune(ctx, func(Machine) bool { return false }) })
	s := testSpec()
	for range 2 {
		if m, err := p.Raise(ctx, s); err != nil || m.Status != "Running" {
			t.Fatalf("%+v %v", m, err)
		}
	}
	s.CPUs = 8
	if _, err := p.Raise(ctx, s); err == nil || !strings.Contains(err.Error(), "another template") {
		t.Errorf("another template: %v", err)
	}
	if _, err := p.Recreate(ctx, s); err != nil {
		t.Error(err)
	}
	other := testSpec()
	other.Workspace = "other"
	if _, err := p.Raise(ctx, other); err != nil {
		t.Fatal(err)
	}
	gone, err := p.Prune(ctx, func(m Machine) bool { return m.Workspace == "other" })
	if err != nil || len(gone) != 1 || gone[0] != "carrel-0123abcd" {
		t.Errorf("pruned %q %v", gone, err)
	}
	if list, err := p.List(ctx); err != nil || len(list) != 1 || list[0].Workspace != "other" {
		t.Errorf("%+v %v", list, err)
	}
}

// TestWhatAMachineDoesNotHold: a machine is not used if its kernel does not hold what was promised.
func TestWhatAMachineDoesNotHold(t *testing.T) {
	machineOrSkip(t)
	for fault, want := range map[string]string{
		"FAKE_NO_RULES=1": "is not closed", "FAKE_ROOT=1": "can become root", "FAKE_KVM=1": "/dev/kvm",
	} {
		p, err := fakeProgram(t, fault)
		if err != nil {
			t.Fatal(err)
		}
		m, err := p.Raise(context.Background(), testSpec())
		if err == nil {
			err = p.Ready(context.Background(), m, testSpec(), strings.NewReader(""))
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", fault, err)
		}
		_, _ = p.Prune(context.Background(), func(Machine) bool { return false })
	}
}

// TestStartThatFails: what limactl has started of a machine that does not come up is ended.
func TestStartThatFails(t *testing.T) {
	p, err := fakeProgram(t, "FAKE_SLOW=1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Raise(context.Background(), testSpec()); err == nil || !strings.Contains(err.Error(), "did not receive") {
		t.Errorf("%v", err)
	}
	m, err := p.Find(context.Background(), testSpec().Workspace)
	if err != nil || m == nil {
		t.Fatalf("%+v %v", m, err)
	}
	pid, err := os.ReadFile(m.Dir + "/ha.pid")
	if err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		line, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/cmdline")
		if err != nil || len(line) == 0 { // it is gone, or has ended
			break
		}
		if time.Since(began) > 10*time.Second {
			t.Fatalf("it runs on: %s", line)
		}
	}
}

// counts lets everything be done, and counts it.
type counts struct{ changes map[string]int }

func (counts) Decide(ch *broker.Change) broker.Verdict {
	return broker.Verdict{Allowed: filepath.Base(ch.Path) != "denied"}
}
func (c counts) Before(ch *broker.Change) error { c.changes[ch.Op]++; return nil }
func (counts) After(*broker.Change, error)      {}

// TestProjectThroughTheRelay: a command in a machine works in the project by way of the
// relay, and each change is decided and told outside.
func TestProjectThroughTheRelay(t *testing.T) {
	machineOrSkip(t)
	ctx := context.Background()
	p, err := fakeProgram(t)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = p.Prune(ctx, func(Machine) bool { return false }) })
	m, err := p.Raise(ctx, testSpec())
	if err != nil {
		t.Fatal(err)
	}
	relay := t.TempDir() + "/carrel-relay"
	build := exec.Command("go", "build", "-o", relay, "carrel/cmd/carrel-relay")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := os.Open(relay)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := p.Ready(ctx, m, testSpec(), f); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(root), 0o755); err != nil { // another user works there
		t.Fatal(err)
	}
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	c := counts{make(map[string]int)}
	server, err := interceptor.New(interceptor.Config{Roots: []interceptor.Root{{Path: root, FD: fd}}, Decider: c, Recorder: c,
		UID: AgentID, GID: AgentID})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	serve := func(in io.Reader, out io.Writer) error { return server.Serve(interceptor.Stream(in, out)) }
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		t.Fatal(err)
	}
	other, err := interceptor.New(interceptor.Config{Roots: []interceptor.Root{{Path: root, FD: fd}}, Decider: c, Recorder: c})
	if err != nil {
		t.Fatal(err)
	}
	wrong := []Place{{"0", root, st.Ino + 1}}
	if _, err := p.StartRelay(ctx, m, wrong, func(in io.Reader, out io.Writer) error { return other.Serve(interceptor.Stream(in, out)) }); !errors.Is(err, errOther) {
		t.Errorf("another directory is taken for the project: %v", err)
	}
	other.Close()
	r, err := p.StartRelay(ctx, m, []Place{{"0", root, st.Ino}}, serve)
	if err != nil {
		t.Fatal(err)
	}
	script := "mkdir d && echo in the machine >d/f && mv d e && cat e/f && echo x >denied"
	out, err := p.Command(ctx, m, root, []string{"sh", "-c", script}).CombinedOutput()
	if err == nil || !strings.HasPrefix(string(out), "in the machine\n") {
		t.Errorf("%v: %s", err, out)
	}
	if data, err := os.ReadFile(root + "/e/f"); err != nil || string(data) != "in the machine\n" {
		t.Errorf("outside: %q %v", data, err)
	}
	if c.changes[broker.OpMkdir] != 1 || c.changes[broker.OpCreate] != 1 || c.changes[broker.OpRename] != 1 {
		t.Errorf("told: %v", c.changes)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
