package wlclip

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// compositor is one that says what a test wants it to.
type compositor struct {
	t       *testing.T
	path    string
	globals []string
	offered []string
	give    func(*os.File) // what it does with the pipe of who pastes
	odd     []byte         // sent instead of an answer to the first question
}

func (s *compositor) start() {
	s.path = filepath.Join(s.t.TempDir(), "wayland-7")
	l, err := net.Listen("unix", s.path)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(&conn{c: c.(*net.UnixConn)})
		}
	}()
}

// serve answers as far as this client's questions go.
func (s *compositor) serve(c *conn) {
	defer c.close()
	var manager, device uint32
	for {
		m, err := c.event()
		if err != nil {
			return
		}
		a := &args{b: m.args}
		switch {
		case m.object == displayID && m.opcode == 1 && s.odd != nil:
			_ = c.send(s.odd)
		case m.object == displayID && m.opcode == 1: // get_registry
			for i, name := range s.globals {
				_ = c.send(request(2, 0, uint32(i+1), name, uint32(1)))
			}
		case m.object == 2 && m.opcode == 0: // bind
			if _, name, _ := a.uint(), a.text(), a.uint(); strings.Contains(name, "manager") {
				manager = a.uint()
			}
		case m.object == displayID && m.opcode == 0: // sync
			_ = c.send(request(a.uint(), 0, uint32(0)))
		case m.object == manager && m.opcode == 1 && s.offered != nil: // get_data_device
			device = a.uint()
			_ = c.send(request(device, 0, uint32(firstServerID)))
			for _, kind := range s.offered {
				_ = c.send(request(firstServerID, 0, kind))
			}
			_ = c.send(request(device, 1, uint32(firstServerID)))
		case m.object == firstServerID && m.opcode == 0: // receive
			fd, err := c.file()
			if err != nil {
				s.t.Error(err)
				return
			}
			go s.give(os.NewFile(uintptr(fd), "paste"))
		}
	}
}

var usual = []string{"wl_compositor", "wl_seat", "zwlr_data_control_manager_v1"}

// TestHostile: a program that copied without end, or never says anything, and a
// compositor that says odd things, cost a bounded time and nothing else.
func TestHostile(t *testing.T) {
	endless := func(f *os.File) {
		defer f.Close()
		block := make([]byte, 1<<20)
		for {
			if _, err := f.Write(block); err != nil {
				return
			}
		}
	}
	hangs := func(f *os.File) { time.Sleep(quiet + 2*time.Second); f.Close() }
	many := make([]string, 1000)
	for i := range many {
		many[i] = strings.Repeat("x", i+1)
	}
	for name, c := range map[string]struct {
		s    compositor
		want string
	}{
		"endless":        {compositor{globals: usual, offered: []string{"image/png"}, give: endless}, "more than"},
		"hangs":          {compositor{globals: usual, offered: []string{"image/png"}, give: hangs}, "said nothing"},
		"another format": {compositor{globals: usual, offered: []string{"text/html"}}, "not offered as"},
		"nothing":        {compositor{globals: usual}, ErrEmpty.Error()},
		"many formats":   {compositor{globals: usual, offered: many}, "not offered as"},
		"no extension":   {compositor{globals: usual[:2]}, ErrNoExtension.Error()},
		"no seat":        {compositor{globals: usual[2:]}, "no seat"},
		"a short string": {compositor{odd: request(2, 0, uint32(1))}, "ends too early"},
		"an odd size":    {compositor{odd: []byte{1, 0, 0, 0, 0, 0, 9, 0}}, "a message of 9 bytes"},
		"an error":       {compositor{odd: request(displayID, 0, uint32(1), uint32(2), "no\x1b[2J")}, `no\x1b[2J`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.s.t = t
			c.s.start()
			b, err := Open(context.Background(), c.s.path)
			if err == nil {
				defer b.Close()
				_, err = b.Data(context.Background(), "image/png")
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
}

// TestSilent: a compositor that takes connections and says nothing ends with the
// context of who asked.
func TestSilent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// TestDescriptors: those that belong to no message are bounded and closed.
func TestDescriptors(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[1])
	f := os.NewFile(uintptr(pair[0]), "pair")
	n, err := net.FileConn(f)
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	c := &conn{c: n.(*net.UnixConn)}
	defer c.close()
	go func() {
		for range 40 {
			if unix.Sendmsg(pair[1], []byte{1}, unix.UnixRights(pair[1]), nil, 0) != nil {
				return
			}
		}
	}()
	for err == nil {
		c.in = nil // never a whole message
		_, err = c.event()
	}
	if !strings.Contains(err.Error(), "descriptors") && !strings.Contains(err.Error(), "a message of") {
		t.Errorf("%v", err)
	}
}
