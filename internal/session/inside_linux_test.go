package session

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/inside"
	"carrel/internal/ports"
	"carrel/internal/steps"
)

// insideOf is a server of the inside API at a socket of a test, and what it writes down.
type insideOf struct {
	t    *testing.T
	at   string
	s    *insideServer
	mu   sync.Mutex
	kept []api.Link
	nos  []api.Denial
}

// links are those that were written down.
func (o *insideOf) links() []api.Link {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.kept)
}

func serveTo(t *testing.T, change func(*insideServer)) *insideOf {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "i") // names of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dir + "/s", Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	o := &insideOf{t: t, at: dir + "/s"}
	o.s, _, _ = virtualServer()
	o.s.record = func(l api.Link, d *api.Denial) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if d != nil {
			o.nos = append(o.nos, *d)
			return
		}
		o.kept = append(o.kept, l)
	}
	if change != nil {
		change(o.s)
	}
	serveInside(l, o.s)
	t.Cleanup(o.s.close)
	return o
}

// ask sends a line and gives the answer, false where the connection was closed without one.
func (o *insideOf) ask(line string) (r inside.Reply, ok bool) {
	o.t.Helper()
	c, err := net.Dial("unix", o.at)
	if err != nil {
		o.t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = fmt.Fprintln(c, line)
	text, err := bufio.NewReader(c).ReadBytes('\n')
	if err != nil {
		return r, false
	}
	if err := json.Unmarshal(text, &r); err != nil {
		o.t.Errorf("%q: %v", text, err)
	}
	return r, true
}

func (o *insideOf) open(url string) inside.Reply {
	o.t.Helper()
	line, err := json.Marshal(inside.Request{Operation: inside.OpOpen, URL: url})
	if err != nil {
		o.t.Fatal(err)
	}
	r, ok := o.ask(string(line))
	if !ok {
		o.t.Errorf("%s: no answer", url)
	}
	return r
}

// TestInsideRequests: whatever programs inside say gets an answer or an end, and none of it what it
// must not.
func TestInsideRequests(t *testing.T) {
	var marks []string
	o := serveTo(t, func(s *insideServer) {
		s.mark = func(begin bool, by steps.Marker, m inside.Mark) error {
			marks = append(marks, fmt.Sprintln(begin, by == steps.Marker{PID: os.Getpid()}, m.Label))
			if m.Label == "full" {
				return errors.New("too many marks")
			}
			return nil
		}
	})
	for line, want := range map[string]string{
		"": "not understood", "x": "not understood", "[]": "not understood", `{"operation":7}`: "not understood", `{}`: "not understood",
		`{"operation":"format-disk"}`: "not understood", `{"operation":"stop"}`: "one command's",
		`{"operation":"control","mode":"paused"}`:            "one command's",
		`{"operation":"step-begin","step":{"label":"full"}}`: "too many marks", `{"operation":"open"}`: "link is empty",
	} {
		if r, ok := o.ask(line); !ok || r.OK || !strings.Contains(r.Message, want) {
			t.Errorf("%q: %+v, %v, want %q", line, r, ok, want)
		}
	}
	if r, ok := o.ask(`{"operation":"step-end","step":{"label":"x"}}`); !ok || !r.OK {
		t.Errorf("%+v", r)
	}
	if got := strings.Join(marks, ""); !strings.Contains(got, "true true full") || !strings.Contains(got, "false true x") {
		t.Errorf("marks: %s", got)
	}
	if _, ok := o.ask(`{"operation":"open","url":"` + strings.Repeat("x", inside.MaxRequest)); ok {
		t.Error("a request without an end is answered")
	}
	o.s.expired = func(op string) *api.Denial { return &api.Denial{Message: op + ": the time is over"} }
	if r := o.open("https://a.example/"); r.OK || r.Message != "open: the time is over" {
		t.Errorf("after the time is over: %+v", r)
	}
	if r, _ := o.ask(`{"operation":"stop"}`); !strings.Contains(r.Message, "one command's") {
		t.Errorf("an end after the time is over: %+v", r)
	}
}

// TestInsideFlood: callers that say nothing take the places that there are, and one more is sent away
// at once; as soon as one has gone there is room.
func TestInsideFlood(t *testing.T) {
	o := serveTo(t, nil)
	var all []net.Conn
	for range insideConcurrent {
		c, err := net.Dial("unix", o.at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		all = append(all, c)
	}
	if _, ok := o.ask(`{"operation":"stop"}`); ok {
		t.Error("more are answered at a time than there are places")
	}
	all[0].Close()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, ok := o.ask(`{"operation":"stop"}`); ok {
			break
		}
		if time.Now().After(end) {
			t.Fatal("a place that is free again is not given")
		}
	}
}

// TestLinksFromInside: which links are opened outside, with what program and variables, and what is
// said of those that are not; each is written down with what became of it.
func TestLinksFromInside(t *testing.T) {
	dir := t.TempDir()
	opener := dir + "/opener"
	script := "#!/bin/sh\necho \"$1 $A $B $(pwd)\" >>" + dir + "/opened\ncase $1 in *fail*) exit 1; esac\n"
	if err := os.WriteFile(opener, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("B", "the supervisor's")
	writable := ""
	o := serveTo(t, func(s *insideServer) {
		s.opener, s.openEnv, s.openerWritable = opener, []string{"A=a", "PATH=/usr/bin:/bin"}, func() string { return writable }
	})
	again := func() { // as if the pause between two were over
		o.s.mu.Lock()
		defer o.s.mu.Unlock()
		o.s.lastOpen = time.Time{}
	}
	for _, c := range []struct {
		url, writable, says string
		opened              bool
	}{
		{"https://a.example/x?y=$(id)", "", "opened in the browser outside", true}, {"https://a.example/2", "", "too many links at once", false},
		{"http://localhost:8080/", "", "mean another machine", false},
		{"https://a.example/3", "/p/bin", "could choose what the link is opened with", false},
		{"https://a.example/fail", "", "could not be started", false}, {"https://a.example/4", "", "opened in the browser outside", true},
	} {
		if writable = c.writable; !strings.Contains(c.says, "too many") {
			again()
		}
		before := len(o.links())
		if r := o.open(c.url); r.OK != c.opened || !strings.Contains(r.Message, c.says) {
			t.Errorf("%s: %+v, want %q", c.url, r, c.says)
		}
		if len(o.links()) != before+1 || o.links()[before].Opened != c.opened {
			t.Errorf("%s: written down: %+v", c.url, o.links()[before:])
		}
	}
	got, err := os.ReadFile(dir + "/opened")
	if want := "https://a.example/x?y=$(id) a  /\nhttps://a.example/fail a  /\nhttps://a.example/4 a  /\n"; err != nil ||
		strings.NewReplacer("%28", "(", "%29", ")", "%24", "$").Replace(string(got)) != want {
		t.Errorf("opened: %q, %v, want %q", got, err, want)
	}
	for _, url := range []string{"file:///etc/passwd", "javascript:x", "https://user@a.example/", "-flag", "https://a\nb/"} {
		if r := o.open(url); r.OK {
			t.Errorf("%q is opened", url)
		}
	}
	if len(o.nos) != 5 || o.nos[0].Subject != "file:///etc/passwd" || o.nos[0].Code != api.CodeLink {
		t.Errorf("refused: %+v", o.nos)
	}
	o.s.mu.Lock()
	o.s.links, o.s.opened = 0, maxOpened
	o.s.mu.Unlock()
	again()
	if r := o.open("https://a.example/"); !strings.Contains(r.Message, "too many links at once") {
		t.Errorf("more than may be opened in a run: %+v", r)
	}
	o.s.mu.Lock()
	o.s.links = maxLinks
	o.s.mu.Unlock()
	before := len(o.links())
	if r := o.open("https://a.example/"); !strings.Contains(r.Message, "more than 200 links") || len(o.links()) != before {
		t.Errorf("more than are kept: %+v", r)
	}
}

// TestWaysBackOfLogins: a login's port is listened on outside once, alone, above the system's, and not
// where another program has it; with the run it is free.
func TestWaysBackOfLogins(t *testing.T) {
	free := func() (port int) {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().(*net.TCPAddr).Port
	}
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	login := func(port int) string {
		return fmt.Sprintf("https://a.example/authorize?response_type=code&client_id=x&redirect_uri="+
			"http%%3A%%2F%%2F127.0.0.1%%3A%d%%2Fcallback", port)
	}
	ways := ports.NewCallbacks(nil)
	o := serveTo(t, func(s *insideServer) { s.callback = ways.Open })
	port := free()
	for _, c := range []struct {
		port     int
		says     string
		callback int
	}{
		{taken.Addr().(*net.TCPAddr).Port, "is taken outside", -1}, {80, "no browser", 0}, {port, "no browser", port}, {port, "no browser", port},
		{free(), "one at a time", -1},
	} {
		before := len(o.links())
		if r := o.open(login(c.port)); !strings.Contains(r.Message, c.says) {
			t.Errorf("port %d: %+v, want %q", c.port, r, c.says)
		}
		if c.callback >= 0 && (len(o.links()) != before+1 || o.links()[before].Callback != c.callback) || c.callback < 0 &&
			len(o.links()) != before {
			t.Errorf("port %d: written down %+v", c.port, o.links()[before:])
		}
	}
	if _, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
		t.Error("nothing listens for the login")
	}
	o.s.close()
	ways.Close()
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Errorf("after the run: %v", err)
	} else {
		l.Close()
	}
	o = serveTo(t, nil)
	if o.open(login(port)); len(o.links()) != 1 || o.links()[0].Callback != 0 {
		t.Errorf("a way back where none is wanted: %+v", o.links())
	}
}
