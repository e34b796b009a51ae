package session

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/screen"
	"carrel/internal/tty"

	"golang.org/x/term"
)

// terminalOf is a terminal of a workspace; its far end is the test's program.
func terminalOf(t *testing.T) (*terminal, *os.File) {
	t.Helper()
	near, far, err := tty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := term.MakeRaw(int(far.Fd())); err != nil {
		t.Fatal(err)
	}
	x := &terminal{near: os.NewFile(uintptr(tty.Dup(near)), "terminal"), watchers: make(map[*watcher]bool), columns: 20, rows: 4,
		screen: screen.New(20, 4, 10)}
	tty.Resize(x.near, x.columns, x.rows)
	ended := make(chan struct{})
	go func() { defer close(ended); x.read() }()
	t.Cleanup(func() { far.Close(); <-ended })
	return x, far
}

// shows waits until the screen holds a text.
func (t *terminal) shows(tt *testing.T, text string) *api.Screen {
	tt.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		s := t.look("a1", true)
		if strings.Contains(strings.Join(s.Lines, "\n"), text) {
			return s
		}
		if time.Now().After(end) {
			tt.Fatalf("%q is not on the screen %q", text, s.Lines)
		}
	}
}

func reads(t *testing.T, far *os.File, want string) {
	t.Helper()
	got := ""
	buf := make([]byte, 100)
	for len(got) < len(want) {
		n, err := far.Read(buf)
		if got += string(buf[:n]); err != nil {
			t.Fatal(err)
		}
	}
	if got != want {
		t.Errorf("the program reads %q, want %q", got, want)
	}
}

// TestScreenOfATerminal: what a program writes is told as a screen, with what has left it; what is
// typed reaches it, as keys and as text, and its size is changed within bounds.
func TestScreenOfATerminal(t *testing.T) {
	x, far := terminalOf(t)
	if _, err := far.WriteString("\x1b]0;a title\x07one\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix"); err != nil {
		t.Fatal(err)
	}
	s := x.shows(t, "six")
	if s.Title != "a title" || x.title() != "a title" || strings.Join(s.Scrollback, " ") != "one two" || s.Cursor != [2]int{3, 3} || s.Hidden {
		t.Errorf("%+v", s)
	}
	if s := x.look("a1", false); s.Scrollback != nil {
		t.Errorf("what was not asked for: %q", s.Scrollback)
	}
	ctx := t.Context()
	for _, c := range []struct {
		in   api.Input
		want string
	}{
		{api.Input{Data: []byte("\x00\xffx")}, "\x00\xffx"}, {api.Input{Keys: []string{"Up", "ctrl+c", "Enter"}}, "\x1b[A\x03\r"},
		{api.Input{Text: "pasted"}, "pasted"},
	} {
		if n, err := x.send(ctx, &c.in); err != nil || n != len(c.want) {
			t.Errorf("%+v: %d, %v", c.in, n, err)
		}
		reads(t, far, c.want)
	}
	if _, err := x.send(ctx, &api.Input{Data: []byte("never"), Keys: []string{"NoSuchKey"}}); err == nil ||
		!strings.Contains(err.Error(), "NoSuchKey") {
		t.Errorf("a key that is none: %v", err)
	}
	if _, err := far.WriteString("\x1b[?2004h\x1b[6n"); err != nil { // pasted text is marked from now on, and where is the cursor?
		t.Fatal(err)
	}
	reads(t, far, "\x1b[4;4R")
	if _, err := x.send(ctx, &api.Input{Text: "a\x1b[201~b"}); err != nil {
		t.Error(err)
	}
	reads(t, far, "\x1b[200~a[201~b\x1b[201~")
	if _, err := x.send(ctx, &api.Input{Columns: 1 << 20, Rows: 2}); err != nil {
		t.Error(err)
	}
	if columns, rows, err := term.GetSize(int(far.Fd())); err != nil || columns != tty.MaxColumns || rows != 2 {
		t.Errorf("the program's terminal is %d by %d, %v", columns, rows, err)
	}
	if s := x.look("a1", false); s.Columns != tty.MaxColumns || s.Rows != 2 || len(s.Lines) != 2 {
		t.Errorf("the screen is %d by %d", s.Columns, s.Rows)
	}
}

// TestProgramThatDoesNotRead: who types to it waits as long as they want to, and is told how much went.
func TestProgramThatDoesNotRead(t *testing.T) {
	x, _ := terminalOf(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	const much = 1 << 20
	n, err := x.send(ctx, &api.Input{Data: make([]byte, much)})
	if err == nil || n == 0 || n >= much || !strings.Contains(err.Error(), "does not read") ||
		!strings.Contains(err.Error(), "of 1048576 bytes") {
		t.Errorf("%d, %v", n, err)
	}
}

// TestWatchersOfATerminal: one that is attached gets each piece; one that is behind gets the screen as
// it is instead of what it has lost; with the program's end both are told.
func TestWatchersOfATerminal(t *testing.T) {
	x, far := terminalOf(t)
	quick, slow := &watcher{pieces: make(chan []byte, attachQueue)}, &watcher{pieces: make(chan []byte, 1)}
	x.mu.Lock()
	x.watchers[quick], x.watchers[slow] = true, true
	x.mu.Unlock()
	var got string
	for _, text := range []string{"first ", "second ", "third"} {
		if _, err := far.WriteString(text); err != nil {
			t.Fatal(err)
		}
		for !strings.Contains(got, text) {
			got += string(<-quick.pieces)
		}
	}
	x.shows(t, "first second third")
	if got != "first second third" || string(<-slow.pieces) != "first " {
		t.Errorf("one that reads got %q", got)
	}
	x.catchUp(slow)
	if painted := string(<-slow.pieces); !strings.Contains(painted, "first second third") {
		t.Errorf("one that is behind got %q", painted)
	}
	if _, err := far.WriteString("\r\nnew"); err != nil {
		t.Fatal(err)
	}
	if next := string(<-slow.pieces); !strings.Contains(next, "new") && next != "\r\n" {
		t.Errorf("after that it got %q", next)
	}
	far.Close()
	for w := range map[*watcher]bool{quick: true, slow: true} {
		for range w.pieces { // until it is closed
		}
	}
	if _, err := x.send(t.Context(), &api.Input{Data: []byte("x")}); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("typed after the end: %v", err)
	}
}
