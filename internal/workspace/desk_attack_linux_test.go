package workspace

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/screen"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// TestFitting: what is said of a line's size is never less than it has, and what was
// cut off would not have fitted.
func TestFitting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.String().Draw(t, "line") + rapid.SampledFrom([]string{"", "\u2028<\"\\", "\x01\x7f", "\xff"}).Draw(t, "more")
		most := rapid.IntRange(4, 60).Draw(t, "most")
		got, size := fitting(line, most)
		if !strings.HasPrefix(line, got) || size > most {
			t.Fatalf("%q of %d: %q, %d", line, most, got, size)
		}
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		if err := e.Encode(got); err != nil || text.Len() > size { // the newline is the comma
			t.Fatalf("%q has %d bytes, not %d: %v", got, text.Len(), size, err)
		}
	})
}

// TestWorstScreens: whatever a program paints, its screen can be told in one line.
func TestWorstScreens(t *testing.T) {
	for _, cell := range []string{"<", "\"", "\U0001d400", "e" + strings.Repeat("\u0301", 8)} {
		term := &terminal{screen: screen.New(maxColumns, maxRows, keptLines), columns: maxColumns, rows: maxRows}
		for range maxRows + keptLines {
			_, _ = term.screen.Write([]byte(strings.Repeat(cell, maxColumns-1) + "\r\n"))
		}
		s := term.look("x", true)
		text, err := json.Marshal(s.Lines)
		if err != nil || len(s.Lines) != maxRows || cell != "<" && len(text) > 1<<20 {
			t.Errorf("%q: %d lines in %d bytes, %v", cell, len(s.Lines), len(text), err)
		}
		var whole bytes.Buffer
		e := json.NewEncoder(&whole)
		e.SetEscapeHTML(false)
		if err := e.Encode(s); err != nil || whole.Len() > 1<<20-1<<10 {
			t.Errorf("%q: %d bytes in all, %v", cell, whole.Len(), err)
		}
		if len(s.Lines[0]) == 0 {
			t.Errorf("%q: nothing is told", cell)
		}
	}
}

// TestWhatCrosses: a descriptor crosses to a workspace that runs if it leads to one
// other program and nothing else.
func TestWhatCrosses(t *testing.T) {
	dir := t.TempDir()
	var pair [2]int
	var err error
	open := func(path string, flags int) int {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	if pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close(); unix.Close(pair[0]); unix.Close(pair[1]) })
	connect := func(network, address string) (there, here int) {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial(network, l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		fd := func(c net.Conn) int {
			f, err := c.(interface{ File() (*os.File, error) }).File()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close(); c.Close(); l.Close() })
			return int(f.Fd())
		}
		return fd(c), fd(accepted)
	}
	client, server := connect("unix", filepath.Join(dir, "s"))
	tcp, _ := connect("tcp", "127.0.0.1:0")
	alone, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(alone) })
	for _, c := range []struct {
		name string
		fd   int
		good bool
	}{
		{"a pipe", int(r.Fd()), true}, {"half of a pair", pair[0], true}, {"what a service was called with", server, true}, {"TCP", tcp, true},
		{"null", open(os.DevNull, unix.O_RDWR), true}, {"zero", open("/dev/zero", unix.O_RDONLY), true},
		{"a pipe with a name", open(fifo, unix.O_RDWR), false}, {"a call of a service", client, false}, {"a socket alone", alone, false},
		{"a directory", open(dir, unix.O_RDONLY), false}, {"a file", open(filepath.Join(dir, "f"), unix.O_RDWR|unix.O_CREAT), false},
		{"a terminal", open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY), false},
	} {
		var st unix.Stat_t
		if err := unix.Fstat(c.fd, &st); err != nil {
			t.Fatal(err)
		}
		if why := crosses(c.fd, &st); (why == "") != c.good {
			t.Errorf("%s: %q", c.name, why)
		}
	}
	kmsg := unix.Stat_t{Mode: unix.S_IFCHR, Rdev: unix.Mkdev(1, 11)}
	if crosses(-1, &kmsg) == "" {
		t.Error("the kernel's messages cross")
	}
}
