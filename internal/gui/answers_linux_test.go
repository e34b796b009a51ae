package gui

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/clipboard"
	"carrel/internal/memfile"
)

// TestClipboardOfDesktop: what is copied comes as one descriptor and is pasted in the format
// that was asked for; formats are a list.
func TestClipboardOfDesktop(t *testing.T) {
	d := &Seat{Clipboard: clipboard.New(clipboard.Config{})}
	give := func(text string, q *api.Clip) error {
		f, err := memfile.Sealed("test", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return d.copy(t.Context(), q, []*os.File{f})
	}
	if _, err := d.paste(t.Context(), &api.Clip{}); !errors.Is(err, clipboard.ErrEmpty) {
		t.Errorf("nothing was copied: %v", err)
	}
	for _, c := range []struct {
		give, ask  api.Clip
		kind, data string
	}{
		{api.Clip{}, api.Clip{}, api.TypeText, "copied"},
		{api.Clip{Type: "TEXT"}, api.Clip{Type: "UTF8_STRING"}, api.TypeText, "copied"},
		{api.Clip{Type: "image/png"}, api.Clip{Type: "image/png"}, "image/png", "copied"},
		{api.Clip{Type: "image/png"}, api.Clip{Targets: true}, api.TypeJSON, `["image/png"]`},
		{api.Clip{Selection: "primary"}, api.Clip{Selection: "primary"}, api.TypeText, "copied"},
	} {
		if err := give("copied", &c.give); err != nil {
			t.Fatal(err)
		}
		if doc, err := d.paste(t.Context(), &c.ask); err != nil || doc.kind != c.kind || string(doc.data) != c.data {
			t.Errorf("%+v as %+v: %s %q, %v", c.give, c.ask, doc.kind, doc.data, err)
		}
	}
	if _, err := d.paste(t.Context(), &api.Clip{Selection: "primary", Type: "image/png"}); !errors.Is(err, clipboard.ErrNoType) {
		t.Errorf("a text as a picture: %v", err)
	}
	if err := d.copy(t.Context(), &api.Clip{}, nil); err == nil || !strings.Contains(err.Error(), "0 came") {
		t.Errorf("no descriptor: %v", err)
	}
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	defer to.Close()
	if err := d.copy(t.Context(), &api.Clip{}, []*os.File{from}); err == nil {
		t.Error("a pipe is waited for")
	}
}

// TestAnswersAreSealed: an answer is a file that the one who has asked cannot change.
func TestAnswersAreSealed(t *testing.T) {
	f, err := document{kind: api.TypeText, data: []byte("answer")}.sealed()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if sealed, err := memfile.IsSealed(int(f.Fd())); err != nil || !sealed {
		t.Errorf("%v, %v", sealed, err)
	}
	if again, err := (document{kind: api.TypePNG, file: f}).sealed(); err != nil || again != f {
		t.Errorf("a picture is copied: %v, %v", again, err)
	}
}

// TestWindowsAreNamedOrRefused: before a server is asked, the window and what is to be done
// with it are checked.
func TestWindowsAreNamedOrRefused(t *testing.T) {
	for _, c := range []struct{ window, do, want string }{
		{"main", "focus", `"main" is no window`}, {"0", "focus", `"0" is no window`}, {"0x100000000", "close", "is no window"},
		{"0x7", "explode", "a window cannot be \"explode\": focus"},
	} {
		err := changeWindow(t.Context(), nil, &api.WindowChange{Window: c.window, Do: c.do})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestBusWaitsForItsFirstProgram: nothing is started before a program connects, and the socket
// that a daemon gets is the one on which that one waits.
func TestBusWaitsForItsFirstProgram(t *testing.T) {
	at := filepath.Join(t.TempDir(), "bus")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: at})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	b := &sessionBus{}
	if b.socket, err = l.File(); err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := b.socket.SetDeadline(time.Time{}); err != nil { // as the stage hands it over: for a poller
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() { waited <- b.wait() }()
	select {
	case err := <-waited:
		t.Fatalf("it does not wait: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	c, err := net.Dial("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := <-waited; err != nil {
		t.Error(err)
	}
	dup, err := duplicate(b.socket)
	if err != nil {
		t.Fatal(err)
	}
	b.close()
	again, err := net.FileListener(dup)
	dup.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	far, err := again.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "hello"); err != nil {
		t.Error(err)
	}
	text := make([]byte, 5)
	if _, err := io.ReadFull(far, text); err != nil || string(text) != "hello" {
		t.Errorf("%q, %v", text, err)
	}
	far.Close()
	(*sessionBus)(nil).close()
}

// TestNoDesktop: a workspace without a desktop has no bus, and says why; one with a desktop and
// no bus has no address for programs.
func TestNoDesktop(t *testing.T) {
	var d *Desktop
	if _, err := d.DialBus(context.Background()); !errors.Is(err, errNoBus) {
		t.Errorf("%v", err)
	}
	if _, err := d.DialInside(context.Background(), "/x"); !errors.Is(err, errNoDesktop) {
		t.Errorf("%v", err)
	}
	b := &buses{workspace: &workspace{c: Config{Runtime: "/run/user/1000"}}}
	if _, err := b.accessibility(context.Background()); !errors.Is(err, errNoBus) || b.address() != "" {
		t.Errorf("%v, %q", err, b.address())
	}
	b.session = &sessionBus{}
	if b.address() != "unix:path=/run/user/1000/bus" {
		t.Errorf("%q", b.address())
	}
}

// TestFilesOfTheBus: what the bus may start lies read-only where its configuration says, each
// file once; the accessibility bus is there only if rules hold it to the control.
func TestFilesOfTheBus(t *testing.T) {
	files := busFiles()
	var targets []string
	for _, f := range files {
		targets = append(targets, f.Target)
		if f.Perm&0o222 != 0 && f.Perm != 0o644 || f.Reason == "" || len(f.Data) == 0 {
			t.Errorf("%+v", f)
		}
	}
	if !slices.IsSorted(targets) || len(slices.Compact(slices.Clone(targets))) != len(targets) || !slices.Contains(targets, busConfigFile) {
		t.Errorf("%q", targets)
	}
}
