package gvisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/fuserelay"
	"carrel/internal/sandbox"
)

// TestMain is also the programs that are started here: what prepares a sandbox, and processes in one.
func TestMain(m *testing.M) {
	switch {
	case IsPrepare(os.Args):
		os.Exit(prepared())
	case os.Getenv("CARREL_TEST_STARTS") != "" && os.Args[0] == "carrel-relay":
		fmt.Print(strings.Join(os.Args[1:], " "))
		os.Exit(3)
	case os.Getenv("CARREL_TEST_STARTS") != "":
		if err := Starts(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// prepared says in one line what runsc would have had.
func prepared() int {
	args, err := Prepare()
	if err != nil {
		fmt.Fprintln(os.Stderr, "carrel-gvisor:", err)
		return 1
	}
	var seen []string
	entries, _ := os.ReadDir("/")
	for _, e := range entries {
		seen = append(seen, e.Name())
	}
	_, err = os.ReadFile(bundleDir + "/config.json")
	fmt.Fprintf(os.Stderr, "%d %v %v %v %v\n", os.Getuid(), args[0] == "runsc", slices.Contains(args, "--network=none"), seen, err)
	return 0
}

// TestView: what is served, the workspace's own names and the kernel's file systems are no part of the
// view, and what reaches this machine is named.
func TestView(t *testing.T) {
	plan := &sandbox.Plan{UID: 7, Mounts: []sandbox.Mount{
		{Kind: sandbox.MountProc, Target: "/proc", Dir: true},
		{Kind: sandbox.MountMask, Target: "/proc/kcore"},
		{Kind: sandbox.MountPts, Target: "/dev/pts"},
		{Kind: sandbox.MountDevice, Target: sandbox.ConsolePath, Source: "/dev/tty1"},
		{Kind: sandbox.MountBind, Target: "/usr", Source: "/usr", ReadOnly: true},
		{Kind: sandbox.MountBind, Target: "/home/u/p", Source: "/home/u/p"},
		{Kind: sandbox.MountMask, Target: "/home/u/p/.env"},
		{Kind: sandbox.MountBind, Target: "/home/u/.agent", Source: "/state/agent"},
		{Kind: sandbox.MountOverlay, Target: "/home/u/.cache/x", Source: "/home/u/.cache/x"},
		{Kind: sandbox.MountBind, Target: "/run/carrel/bin/carrel", Source: "/bin/carrel", ReadOnly: true},
		{Kind: sandbox.MakeSymlink, Target: "/run/carrel/bin/carrel-file", Source: "/run/carrel/bin/carrel"},
		{Kind: sandbox.MakeSymlink, Target: "/run/carrel/bin/agent", Source: "/home/u/bin/agent"},
	}}
	view := viewOf(plan, []fuserelay.Place{{From: "0", To: "/home/u/p"}}, sandbox.Mount{Source: "/bin/relay", Dev: 1, Ino: 2})
	var got []string
	for _, m := range view.Mounts {
		got = append(got, m.Target)
	}
	want := []string{"/proc", "/usr", "/home/u/.agent", "/home/u/.cache/x", "/run/carrel/bin/agent", relayAt, ownDir}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	relay := view.Mounts[len(view.Mounts)-2]
	if relay.Kind != sandbox.MountBind || !relay.ReadOnly || relay.Dev != 1 || relay.Ino != 2 {
		t.Errorf("the relay: %+v", relay)
	}
	if got := writtenIn(view); !slices.Equal(got, []string{"/home/u/.agent", "/home/u/.cache/x"}) {
		t.Errorf("written: %q", got)
	}
	view.Mounts = append(view.Mounts, sandbox.Mount{Kind: sandbox.MountBind, Target: "/var", ReadOnly: true},
		sandbox.Mount{Kind: sandbox.MountTmpfs, Target: "/var/tmp"})
	if got := readIn(view); !slices.Equal(got, []string{"/usr"}) {
		t.Errorf("read-only: %q", got)
	}
}

// TestSpec: a sandbox's first process is the relay, and each place that reaches this machine is a mount.
func TestSpec(t *testing.T) {
	text, err := specOf("name", []string{"/home/u/p"}, []string{"/usr", "/usr/x"})
	if err != nil {
		t.Fatal(err)
	}
	var spec struct {
		Process  struct{ Args []string }
		Root     struct{ Path string }
		Hostname string
		Mounts   []struct {
			Destination, Type, Source string
			Options                   []string
		}
	}
	if err := json.Unmarshal(text, &spec); err != nil {
		t.Fatal(err)
	}
	last, read := spec.Mounts[len(spec.Mounts)-1], spec.Mounts[len(spec.Mounts)-2]
	if read.Destination != "/usr" || !slices.Contains(read.Options, "ro") {
		t.Errorf("read-only: %s", text)
	}
	if !slices.Equal(spec.Process.Args, []string{relayAt, StartsArg}) || spec.Root.Path != "/" || spec.Hostname != "name" ||
		last.Destination != "/home/u/p" || last.Source != last.Destination || last.Type != "bind" {
		t.Errorf("%s", text)
	}
}

func testOptions(t *testing.T, program string) Options {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("opening /dev/fuse may take root")
	}
	var files []*os.File
	for _, path := range []string{program, "/etc/passwd"} {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		files = append(files, f)
	}
	plan := &sandbox.Plan{Mounts: []sandbox.Mount{
		{Kind: sandbox.MountProc, Target: "/proc", Dir: true, Optional: true},
		{Kind: sandbox.MountTmpfs, Target: "/tmp", Perm: 0o777, Dir: true},
	}}
	return Options{Program: files[0], Relay: files[1], Plan: plan, Starts: 1}
}

// TestPrepare: the view of the plan is all that the program has, as user 0 of namespaces of its own.
func TestPrepare(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(testOptions(t, self))
	if err != nil {
		t.Fatal(err)
	}
	device, err := s.Device()
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	if err := s.Mounted(); err != nil {
		t.Fatal(err)
	}
	const want = "0 true true [.carrel-relay proc sys tmp] <nil>"
	for began := time.Now(); s.told.last() != want && time.Since(began) < 10*time.Second; time.Sleep(10 * time.Millisecond) {
	}
	if err = s.Failed(errors.New("ended")); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// TestOtherProgram: what is not carrel-gvisor starts no sandbox, and what it says is told.
func TestOtherProgram(t *testing.T) {
	s, err := Start(testOptions(t, "/bin/ls"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Device(); err == nil || !strings.Contains(err.Error(), "did not start") {
		t.Errorf("%v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestStarts: each line starts a process with descriptors of its own, and the first end is the end.
func TestStarts(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	cmd := exec.Command(self)
	cmd.Env, cmd.ExtraFiles = append(os.Environ(), "CARREL_TEST_STARTS=1"), []*os.File{null, w, null}
	in, err := cmd.StdinPipe() // its end would be an end, too
	var said strings.Builder
	cmd.Stderr = &said
	if err == nil {
		err = cmd.Start()
	}
	w.Close()
	if err == nil {
		_, err = io.WriteString(in, `["-a","b c"]`+"\n")
	}
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	if n, err := r.Read(buf); string(buf[:n]) != "-a b c" {
		t.Errorf("%q %v", buf[:n], err)
	}
	if err := cmd.Wait(); err != nil || said.String() != "carrel-relay -a has ended: exit status 3\n" {
		t.Errorf("%v: %q", err, said.String())
	}
}

// TestReady: only its own word says that a process is ready; all else is what went wrong.
func TestReady(t *testing.T) {
	for said, want := range map[string]string{"ready\n": "", "carrel-relay: no\n": "carrel-relay: no", "": "EOF", "ready 1\n": "ready 1"} {
		p := &Process{Err: io.NopCloser(strings.NewReader(said))}
		err := p.Ready()
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) || p.ready.Load() != (want == "") {
			t.Errorf("%q: %v, ready %t", said, err, p.ready.Load())
		}
	}
}

// TestLastWords: what ends a sandbox by itself is told at the end of each output, with what was said by
// then; the end of one that was closed is an end like any.
func TestLastWords(t *testing.T) {
	sandboxOf := func(said string) (*Sandbox, *Process) {
		s := &Sandbox{told: new(told), heard: make(chan struct{})}
		var own [perStart]*os.File
		for i, text := range []string{"", "out", "ready\n" + said} {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { r.Close() })
			_, _ = w.WriteString(text)
			w.Close()
			own[i] = r
		}
		return s, s.process(own)
	}
	for _, c := range []struct {
		first, runsc, want string
		closed, waits      bool
	}{
		{"carrel-relay: no memory\n", "carrel-relay -serve has ended: exit status 125\n", "carrel-relay: no memory; carrel-relay -serve has ended: exit status 125", false, false},
		{"", "", "it has said nothing", false, false},
		{"", "", "EOF", true, false},
		{"", "", "EOF", false, true},
	} {
		s, p := sandboxOf(c.first)
		_, _ = s.told.Write([]byte(c.runsc))
		close(s.heard)
		s.closing.Store(c.closed)
		if !c.waits {
			buf := make([]byte, len("ready\n"))
			if _, err := p.errs.Read(buf); err != nil {
				t.Fatal(err)
			}
			p.ready.Store(true)
		}
		for range 2 {
			var err error
			for buf := make([]byte, 10); err == nil; _, err = p.Out.Read(buf) {
			}
			if gone := new(Gone); err.Error() != c.want || errors.As(err, &gone) == (c.want == "EOF") {
				t.Errorf("%+v: %v", c, err)
			}
		}
	}
}

// TestWhatIsNotServed: a mount that does not show what was decided about is refused, and so is a sandbox
// that is asked for more processes than it has places for.
func TestWhatIsNotServed(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := testOptions(t, self)
	o.Starts, o.Plan.Mounts[1].Source = 0, ""
	o.Plan.Mounts = append(o.Plan.Mounts, sandbox.Mount{Kind: sandbox.MountBind, Source: "/etc/absent", Target: "/absent"})
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Start("-listen"); err == nil || !strings.Contains(err.Error(), "no more processes") {
		t.Errorf("%v", err)
	}
	if _, err := s.Device(); err == nil || !strings.Contains(err.Error(), `opening source "/etc/absent"`) {
		t.Errorf("%v", err)
	}
}

// TestReplacedRelay: another program in the relay's place is not put into a sandbox.
func TestReplacedRelay(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := testOptions(t, self)
	at := t.TempDir() + "/relay"
	if err := os.WriteFile(at, []byte("first"), 0o755); err != nil {
		t.Fatal(err)
	}
	if o.Relay, err = os.Open(at); err != nil {
		t.Fatal(err)
	}
	defer o.Relay.Close()
	if err := os.Rename(at, at+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte("second"), 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Device(); err == nil || !strings.Contains(err.Error(), "replaced by another") {
		t.Errorf("%v", err)
	}
}
