package notify

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"carrel/internal/api"

	wire "github.com/godbus/dbus/v5"
)

// standIn is a stand-in for a notification service.
type standIn struct {
	mu    sync.Mutex
	calls [][2]string
	rest  []any
}

// Notify implements org.freedesktop.Notifications.
func (s *standIn) Notify(app string, replaces uint32, icon, summary, body string, actions []string, hints map[string]wire.Variant, expires int32) (uint32, *wire.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, [2]string{summary, body})
	s.rest = []any{app, replaces, icon, len(actions), len(hints), expires}
	return 7, nil
}

func (s *standIn) all() [][2]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([][2]string(nil), s.calls...)
}

// newBus starts a private bus, and gives its address.
func newBus(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skip("dbus-daemon is not installed: apt-get install dbus-daemon")
	}
	dir, err := os.MkdirTemp("", "carrel-notify-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	config := filepath.Join(dir, "session.conf")
	text := `<busconfig><type>session</type><listen>unix:path=` + dir + `/bus</listen><policy context="default"><allow user="*"/><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--nofork", "--nopidfile", "--print-address=1", "--config-file="+config)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// service makes a stand-in the bus's notification service.
func service(t *testing.T, address string) *standIn {
	t.Helper()
	c, err := wire.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	s := &standIn{}
	if err := c.Export(s, "/org/freedesktop/Notifications", "org.freedesktop.Notifications"); err != nil {
		t.Fatal(err)
	}
	if r, err := c.RequestName("org.freedesktop.Notifications", 0); err != nil || r != wire.RequestNameReplyPrimaryOwner {
		t.Fatal(r, err)
	}
	return s
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// TestShown: what waits is shown, as text and nothing else, and what comes at once is
// told together.
func TestShown(t *testing.T) {
	address := newBus(t)
	s := service(t, address)
	n := New("no<b>tes\x1b", address)
	n.pause = 300 * time.Millisecond
	evil := "a\x1b[2J<a href='x'>&\u202e" + strings.Repeat("long", 1000) + "\xff"
	n.Tell(api.Approval{ID: "5d20e1", Operation: "write", Subject: evil, Deadline: time.Now().Add(time.Minute)})
	eventually(t, "a notification", func() bool { return len(s.all()) == 1 })
	one := s.all()[0]
	if one[0] != "carrel: no<b>tes? waits for you" || !strings.HasPrefix(one[1], "write a?[2J&lt;a href='x'&gt;&amp;?long") || !strings.Contains(one[1], "carrel approve 5d20e1") || len(one[1]) > 1000 || strings.ContainsAny(one[1], "<>\x1b\u202e") {
		t.Errorf("%q", one)
	}
	if got := s.rest; got[0] != "carrel" || got[1] != uint32(0) || got[3] != 0 || got[5] != int32(-1) {
		t.Errorf("%v", got)
	}
	for range 20 {
		n.Tell(api.Approval{ID: "x", Operation: "write", Subject: "y"})
	}
	eventually(t, "the others", func() bool { return len(s.all()) == 2 })
	if two := s.all()[1]; !strings.HasPrefix(two[1], "20 operations wait") {
		t.Errorf("%q", two)
	}
	n.Tell(api.Approval{ID: "z"})
	n.Close()
	n.Tell(api.Approval{ID: "z"})
	time.Sleep(2 * n.pause)
	if len(s.all()) != 2 {
		t.Errorf("after the end: %q", s.all())
	}
}

// TestNobodyShows: without a service, without a bus, or with somebody who never
// answers, the error is only ours.
func TestNobodyShows(t *testing.T) {
	address := newBus(t)
	b, err := parse(address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := b.notify(ctx, "x", "y"); err == nil || !strings.Contains(err.Error(), "nobody who shows") {
		t.Errorf("%v", err)
	}
	if err := (bus("/nonexistent/bus")).notify(ctx, "x", "y"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	fds, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fds)
	mute := filepath.Join(t.TempDir(), "bus")
	if err := errors.Join(syscall.Bind(fds, &syscall.SockaddrUnix{Name: mute}), syscall.Listen(fds, 1)); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := (bus(mute)).notify(short, "x", "y"); err == nil {
		t.Error("somebody who says nothing was believed")
	}
	n := New("x", "unix:path="+mute)
	n.Tell(api.Approval{ID: "x"})
	time.Sleep(50 * time.Millisecond)
	began := time.Now()
	if n.Close(); time.Since(began) > sendTime/2 {
		t.Errorf("the end waits %v for a bus that says nothing", time.Since(began))
	}
	var none *Notifier
	none.Tell(api.Approval{})
	none.Close()
}

func TestAddress(t *testing.T) {
	for env, want := range map[[2]string]string{
		{"unix:path=/run/b%20s,guid=x", "/run/user/1"}:    "/run/b s",
		{"unix:abstract=/tmp/dbus-x", ""}:                 "@/tmp/dbus-x",
		{"tcp:host=evil,port=1;unix:path=/run/bus", ""}:   "/run/bus",
		{"", "/run/user/1 2"}:                             "/run/user/1 2/bus",
		{"", ""}:                                          "",
		{"unixexec:path=/bin/sh,argv1=-c", ""}:            "",
		{"autolaunch:", ""}:                               "",
		{"unix:path=relative", ""}:                        "",
		{"unix:path=/run/%zz", ""}:                        "",
		{"unix:path=" + strings.Repeat("/x", 1<<20), "/"}: "",
	} {
		b, err := parse(Address(func(name string) string {
			return map[string]string{"DBUS_SESSION_BUS_ADDRESS": env[0], "XDG_RUNTIME_DIR": env[1]}[name]
		}))
		if string(b) != want || (err == nil) != (want != "") {
			t.Errorf("%.60q: %q, %v", env, string(b), err)
		}
	}
}

// TestStands: an agent that waits or is done is told of, one that went on meanwhile is not, and
// what waits for an approval comes first.
func TestStands(t *testing.T) {
	var mu sync.Mutex
	var told []string
	n := &Notifier{name: "fix", pause: 200 * time.Millisecond, send: func(_ context.Context, summary, body string) error {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, summary)
		return nil
	}}
	n.ended, n.end = context.WithCancel(t.Context())
	count := func() int { mu.Lock(); defer mu.Unlock(); return len(told) }
	wait := func(most int) {
		for began := time.Now(); count() < most && time.Since(began) < 10*time.Second; time.Sleep(time.Millisecond) {
		}
	}
	n.Stands(api.TaskWorking)
	n.Stands(api.TaskDone)
	wait(1)
	n.Stands(api.TaskWaiting) // within the pause: taken back before it is told
	n.Stands(api.TaskWorking)
	time.Sleep(2 * n.pause)
	n.Stands(api.TaskDone)
	n.Tell(api.Approval{ID: "1", Operation: "connect"})
	wait(2)
	n.Stands(api.TaskWaiting)
	wait(3)
	n.Close()
	n.Stands(api.TaskDone)
	if want := []string{"carrel: fix is done", "carrel: fix waits for you", "carrel: fix waits for you"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
