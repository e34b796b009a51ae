package gui

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/xfilter"
	"carrel/internal/xvfb"
)

// TestDisplaySeesLittle: the walls of a display have no network, of the host's files no more than
// programs need, and one directory that can be written.
func TestDisplaySeesLittle(t *testing.T) {
	p := displayPolicy()
	if p.Network != policy.NetClosed || p.Home != policy.HomeNone || p.Display != policy.DisplayNone || p.Nested != policy.NestedNone {
		t.Errorf("%+v", p)
	}
	for path, want := range map[string]policy.Access{"/usr/bin/Xvfb": policy.Read, "/etc/fonts/fonts.conf": policy.Read,
		"/tmp/x": policy.Write, "/etc/passwd": policy.Unset, "/home/me": policy.Unset, "/etc": policy.Unset, "/root": policy.Unset,
		"/run/user/1000": policy.Unset, "/var/lib": policy.Unset} {
		if got := p.Lookup(path).Access; got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

// keptIn is a map that was compiled before, in a directory for it.
func keptIn(t *testing.T) (keymap, *xvfb.Place) {
	return keymap{state: t.TempDir(), id: "i", compiled: []byte("\x0fmkx kept")}, &xvfb.Place{Number: 99, Dir: t.TempDir()}
}

// TestKeymapIsMounted: the server gets what was compiled before, and a program in place of the
// compiler that only its owner may change; where there is none it compiles by itself.
func TestKeymapIsMounted(t *testing.T) {
	k, place := keptIn(t)
	for range 2 { // of an earlier server
		binds, files, err := k.mounts(place)
		if err != nil || len(binds) != 2 || len(files) != 1 || string(files[0].Data) != "\x0fmkx kept" ||
			files[0].Target != displayKeymap {
			t.Fatalf("%+v, %+v, %v", binds, files, err)
		}
		for _, b := range binds {
			if !b.ReadOnly {
				t.Errorf("%s can be written", b.Target)
			}
		}
		if binds[0].Source != xvfb.Compiler || binds[1].Target != xvfb.Compiler {
			t.Errorf("%+v", binds)
		}
		st, err := os.Stat(binds[1].Source)
		if err != nil || st.Mode().Perm() != 0o500 {
			t.Errorf("%v, %v", st.Mode(), err)
		}
	}
	k.compiled = nil
	if binds, files, err := k.mounts(place); len(binds)+len(files) != 0 || err != nil {
		t.Errorf("%+v, %+v, %v", binds, files, err)
	}
}

// TestKeptKeymapIsChecked: only a map of this machine's own server, which can be one, is taken.
func TestKeptKeymapIsChecked(t *testing.T) {
	id, err := xvfb.KeymapID()
	if err != nil {
		t.Skip("there is no X server here: ", err)
	}
	good := keymapHead + id + "\n\x0fmkx"
	for text, want := range map[string]bool{good + " map": true, keymapHead + "other\n\x0fmkx": false, keymapHead + id + "\nmap": false,
		"": false, good + strings.Repeat("x", maxKeymapFile): false, keymapHead + id + "\x0fmkx": false} {
		k, place := keptIn(t)
		file := filepath.Join(k.state, keymapFile)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := keptKeymap(k.state, place)
		if (got.compiled != nil) != want || got.id != id || want && string(got.compiled) != "\x0fmkx map" {
			t.Errorf("%.80q: %+v", text, got)
		}
		if got.forget(); keptKeymap(k.state, place).compiled != nil {
			t.Errorf("%.80q is not forgotten", text)
		}
		if got := keptKeymap("", place); got.id != "" {
			t.Errorf("without a place for it: %+v", got)
		}
	}
}

// TestSocketsOfServer: only a socket is one, and no link to one.
func TestSocketsOfServer(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", dir+"/X9")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Symlink("X9", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	fd, err := openSocket(dir + "/X9")
	if err != nil {
		t.Fatal(err)
	}
	if fd, err := openSocket(dir + "/link"); err == nil || fd != -1 {
		t.Errorf("a link: %d, %v", fd, err)
	}
	s := &xserver{socket: fd}
	defer os.NewFile(uintptr(fd), "socket").Close()
	if err := os.Rename(dir+"/X9", dir+"/away"); err != nil {
		t.Fatal(err)
	}
	conn, err := s.dial() // whatever has the name by now
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	for _, name := range []string{"", "/none"} {
		if fd, err := openSocket(dir + name); err == nil || fd != -1 {
			t.Errorf("%q: %d, %v", name, fd, err)
		}
	}
}

// TestReadyLineIsBounded: a server that says too much, nothing or no whole line did not start.
func TestReadyLineIsBounded(t *testing.T) {
	for said, want := range map[string]string{"99\n": "99", "99\nmore\n": "99", "99": "EOF", strings.Repeat("9", 100) + "\n": "EOF",
		"-": "i/o timeout"} {
		from, to, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = to.WriteString(said)
		if said != "-" {
			to.Close()
		}
		line, err := new(xserver).line(t.Context(), from, 20*time.Millisecond)
		got := line
		if err != nil {
			got = err.Error()
		}
		if good := strings.HasPrefix(said, "99\n"); good != (err == nil) || !strings.Contains(got, want) {
			t.Errorf("%.20q: %q, %v, want %s", said, line, err, want)
		}
		from.Close()
		to.Close()
	}
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	defer to.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := new(xserver).line(ctx, from, time.Hour); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("where nobody waits any more: %v", err)
	}
}

// TestLastWordsOfServer: the end of what it said is kept, and how it ended is said.
func TestLastWordsOfServer(t *testing.T) {
	var w serverWords
	_, _ = w.Write(bytes.Repeat([]byte("x"), 3*maxServerWords))
	if n, err := w.Write([]byte("\nlast\n")); n != 6 || err != nil || len(w.kept) != maxServerWords ||
		!strings.HasSuffix(w.text(), `x\nlast"`) {
		t.Errorf("%d, %v, %d bytes", n, err, len(w.kept))
	}
	for want, end := range map[string]sandbox.Exit{"ended with status 3": {Code: 3}, "ended by SIGSEGV": {Signal: 11, Code: 139}} {
		if got := describeEnd(end, nil); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := describeEnd(sandbox.Exit{}, errors.New("no walls")); got != "no walls" {
		t.Error(got)
	}
}

// TestRefusalsArePaced: what programs cause is told now and then, with how many were left out.
func TestRefusalsArePaced(t *testing.T) {
	var p pacer
	told := 0
	for range 5 {
		if before, ok := p.may(); ok {
			if told++; before != 0 {
				t.Errorf("%d before the first", before)
			}
		}
	}
	p.last = p.last.Add(-refusedEvery)
	before, ok := p.may()
	p.last = p.last.Add(-refusedEvery)
	if again, _ := p.may(); told != 1 || !ok || before != 4 || again != 0 {
		t.Errorf("told %d times, then %d before, then %d", told, before, again)
	}
	for _, c := range []struct {
		refusal xfilter.Refusal
		before  int
		want    string
	}{
		{xfilter.Refusal{What: "GrabKey", Times: 1}, 0, "process 7: GrabKey"},
		{xfilter.Refusal{What: "GrabKey", Times: 3, Ended: true}, 2, "process 7: GrabKey, 3 times; it was disconnected (and 2 others before)"},
	} {
		c.refusal.Client.PID = 7
		if got := describeRefusal(c.refusal, c.before); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// TestBusesHaveNoDisplay: what the session bus starts gets no display and no cookie, and the settings
// of no other.
func TestBusesHaveNoDisplay(t *testing.T) {
	got := busEnv([]string{"A=1", "DISPLAY=:9", "DISPLAYS=2", "XAUTHORITY=/x", "HOME=/h"})
	want := []string{"A=1", "DISPLAYS=2", "HOME=/h", "GSETTINGS_BACKEND=memory", "ATSPI_DBUS_IMPLEMENTATION=dbus-daemon"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	b := &buses{workspace: &workspace{c: Config{Runtime: "/run/user/7"}}}
	if b.address() != "" {
		t.Errorf("%q without a bus", b.address())
	}
	if _, err := b.accessibility(t.Context()); !errors.Is(err, errNoBus) {
		t.Error(err)
	}
	if b.session = new(sessionBus); b.address() != "unix:path=/run/user/7/bus" {
		t.Errorf("%q", b.address())
	}
	b.session.close() // it has no socket yet
}

// idleDisplay is a display of a workspace without walls yet, with a server.
func idleDisplay(t *testing.T) (*display, *xserver) {
	w := &workspace{ready: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(t.Context())
	w.cancel() // what is said is read by no client
	s := &xserver{gone: make(chan struct{})}
	d := &display{workspace: w, buses: &buses{workspace: w}, server: s}
	t.Cleanup(func() { d.shut() })
	return d, s
}

// TestDisplayIsLetGoOf: only after the last client, and by no client once it is shut.
func TestDisplayIsLetGoOf(t *testing.T) {
	d, s := idleDisplay(t)
	d.count(func() { d.users++ })
	d.count(func() { d.clients = 2 })
	if d.letGo(); d.release != nil || d.current() != s {
		t.Error("it is let go of while somebody is connected")
	}
	if d.count(func() { d.users-- }); d.release != nil {
		t.Error("programs inside do not count")
	}
	d.count(func() { d.clients = 0 })
	first := d.release
	d.count(func() {})
	if first == nil || first.Stop() || d.release == first {
		t.Error("it is not let go of later, or twice")
	}
	if d.count(func() { d.users++ }); d.release != nil {
		t.Error("it is let go of although somebody came")
	}
	if got, err := d.running(t.Context(), true); got != s || err != nil {
		t.Errorf("another server: %v", err)
	}
	if got, first := d.shut(); got != s || !first {
		t.Error("its server is not given")
	}
	if got, first := d.shut(); got != nil || first {
		t.Error("it is shut twice")
	}
	if _, err := d.running(t.Context(), false); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a server is started after the end: %v", err)
	}
	if _, err := d.dialCounted(t.Context()); !errors.Is(err, net.ErrClosed) || d.users != 1 {
		t.Errorf("%v, and %d are connected", err, d.users)
	}
	if b := <-d.findBus(); !errors.Is(b.err, net.ErrClosed) {
		t.Errorf("%v", b.err)
	}
}

// TestConnectingAgain: where the server has just died the connection is tried once more, with
// the next one; any other failure is told.
func TestConnectingAgain(t *testing.T) {
	d, s := idleDisplay(t)
	failed := errors.New("no connection")
	try := func(ctx context.Context) (n int, err error) {
		err = d.again(ctx, func() error {
			if n++; n == 1 {
				return failed
			}
			return nil
		})
		return n, err
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := try(ended); n != 1 || !errors.Is(err, failed) {
		t.Errorf("with a server that lives: %d times, %v", n, err)
	}
	close(s.gone)
	if n, err := try(t.Context()); n != 2 || err != nil {
		t.Errorf("with one that has gone: %d times, %v", n, err)
	}
	d.server = nil
	if n, err := try(t.Context()); n != 1 || !errors.Is(err, failed) {
		t.Errorf("without one: %d times, %v", n, err)
	}
}

// TestWatchingEndsForGood: a display that has ended has no watcher.
func TestWatchingEndsForGood(t *testing.T) {
	d, _ := idleDisplay(t)
	w := &viewing{d: d}
	w.setInput(true)
	if w.close(); !w.input || !w.closed || w.staying(true) != nil || w.staying(false) != nil {
		t.Errorf("%+v", w)
	}
	w.begin() // is not wanted
	if w.at != nil || w.uses != 0 {
		t.Error("somebody watches")
	}
}
