package xfilter

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// world is a real Xvfb, and a filter before it. Both are ended with the test.
type world struct {
	t      testing.TB
	number int    // of the filter's display
	real   string // socket of the server
	cookie []byte // of the server
	mine   []byte // of the filter
	filter *Filter
	env    []string

	auth      string // the server's own authority file
	endServer func()

	mu       sync.Mutex
	missing  []string
	refusals []Refusal
	failures []error
	counts   []int
}

// needs leaves a test out where a program that it is made of is not installed.
func needs(t testing.TB, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed", p)
		}
	}
}

// authority writes an Xauthority file for any host and display.
func authority(t testing.TB, path string, cookie []byte) {
	t.Helper()
	b := []byte{0xff, 0xff, 0, 0, 0, 0}
	for _, s := range [][]byte{[]byte(cookieName), cookie} {
		b = binary.BigEndian.AppendUint16(b, uint16(len(s)))
		b = append(b, s...)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// server starts Xvfb on a free number and waits for it.
func server(t testing.TB, world *world) (socket string, cookie []byte) {
	t.Helper()
	needs(t, "Xvfb")
	dir := t.TempDir()
	cookie = bytes.Repeat([]byte{0x5e}, 16)
	authority(t, filepath.Join(dir, "auth"), cookie)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("Xvfb", "-displayfd", "3", "-nolisten", "tcp", "-noreset", "-extension", "GLX", "-s", "0",
		"-auth", filepath.Join(dir, "auth"), "-screen", "0", "1280x800x24")
	cmd.ExtraFiles = []*os.File{w}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	world.auth = filepath.Join(dir, "auth")
	world.endServer = sync.OnceFunc(func() { cmd.Process.Signal(os.Interrupt); cmd.Wait(); r.Close() })
	t.Cleanup(world.endServer)
	var number int
	if _, err := fmt.Fscanln(r, &number); err != nil {
		t.Fatalf("Xvfb does not start: %v", err)
	}
	return fmt.Sprintf("/tmp/.X11-unix/X%d", number), cookie
}

// lacked lists what was told to be missing.
func (w *world) lacked() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.missing)
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, mine: bytes.Repeat([]byte{0xca}, 16)}
	w.real, w.cookie = server(t, w)
	w.filter = New(Config{
		Cookie:  w.mine,
		Dial:    w.dial,
		Clients: func(n int) { w.mu.Lock(); w.counts = append(w.counts, n); w.mu.Unlock() },
		Refused: func(r Refusal) { w.mu.Lock(); w.refusals = append(w.refusals, r); w.mu.Unlock() },
		Lacks:   func(_ Client, name string) { w.mu.Lock(); w.missing = append(w.missing, name); w.mu.Unlock() },
		Failed:  func(_ Client, err error) { w.mu.Lock(); w.failures = append(w.failures, err); w.mu.Unlock() },
	})
	l := w.listen()
	auth := filepath.Join(t.TempDir(), "auth")
	authority(t, auth, w.mine)
	w.env = append(os.Environ(), fmt.Sprintf("DISPLAY=:%d", w.number), "XAUTHORITY="+auth,
		"HOME="+t.TempDir(), "XDG_RUNTIME_DIR="+t.TempDir(), "WAYLAND_DISPLAY=none", "GDK_BACKEND=x11",
		"QT_QPA_PLATFORM=xcb", "DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent", "NO_AT_BRIDGE=1", "GSETTINGS_BACKEND=memory")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- w.filter.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return w
}

// listen makes the filter's own display, on a number that nobody has.
func (w *world) listen() net.Listener {
	for n := 4000 + os.Getpid()%1000; n < 6000; n++ {
		l, err := net.Listen("unix", fmt.Sprintf("/tmp/.X11-unix/X%d", n))
		if err == nil {
			w.number = n
			return l
		}
	}
	w.t.Fatal("no display number is free")
	return nil
}

func (w *world) dial(context.Context) (net.Conn, []byte, error) {
	c, err := net.Dial("unix", w.real)
	return c, w.cookie, err
}

func (w *world) told(what string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.refusals {
		if strings.Contains(r.What, what) {
			return true
		}
	}
	return false
}

func (w *world) toldAll() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var l []string
	for _, r := range w.refusals {
		l = append(l, fmt.Sprintf("%s x%d ended=%v", r.What, r.Times, r.Ended))
	}
	return l
}

// run runs a program on the filter's display.
func (w *world) run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = w.env
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (w *world) must(args ...string) string {
	w.t.Helper()
	out, err := w.run(args...)
	if err != nil {
		w.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

// start starts a program on the filter's display and ends it with the test.
func (w *world) start(args ...string) *exec.Cmd {
	w.t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = w.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	newGroup(cmd)
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		killGroup(cmd)
		cmd.Wait()
		if w.t.Failed() {
			w.t.Logf("%s said: %.2000s", args[0], out.String())
		}
	})
	return cmd
}

// eventually waits for something that another process does.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("did not come: %s", what)
}

// client is a small X client of the tests, which may be as rude as it likes.
type client struct {
	t     testing.TB
	conn  net.Conn
	order order
	welcome
	cookie []byte
	seq    uint16
	next   uint32
	events [][]byte
	ext    map[string][2]byte // major, first event
}

// open connects over the filter.
func (w *world) open(o order) *client {
	w.t.Helper()
	return openAt(w.t, fmt.Sprintf("/tmp/.X11-unix/X%d", w.number), w.mine, o)
}

// direct connects to the server itself, as the supervisor does.
func (w *world) direct() *client {
	w.t.Helper()
	return openAt(w.t, w.real, w.cookie, false)
}

func openAt(t testing.TB, path string, cookie []byte, o order) *client {
	t.Helper()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(5 * time.Minute))
	conn.Write(offer{order: o, name: cookieName, data: cookie}.request())
	w, _, err := readWelcome(conn, o)
	if err != nil {
		t.Fatal(err)
	}
	return &client{t: t, conn: conn, order: o, welcome: w, cookie: cookie, ext: make(map[string][2]byte)}
}

// req makes a request of words: byte values are put as they are, uint16 and
// uint32 in the client's order.
func (c *client) req(major, minor byte, fields ...any) []byte {
	b := []byte{major, minor, 0, 0}
	for _, f := range fields {
		switch v := f.(type) {
		case int:
			b = append(b, 0, 0, 0, 0)
			c.order.put32(b[len(b)-4:], uint32(v))
		case uint32:
			b = append(b, 0, 0, 0, 0)
			c.order.put32(b[len(b)-4:], v)
		case uint16:
			b = append(b, 0, 0)
			c.order.put16(b[len(b)-2:], v)
		case byte:
			b = append(b, v)
		case string:
			b = append(b, v...)
		case []byte:
			b = append(b, v...)
		default:
			c.t.Fatalf("field %T", f)
		}
	}
	b = append(b, make([]byte, padded(len(b))-len(b))...)
	c.order.put16(b[2:], uint16(len(b)/4))
	return b
}

func (c *client) send(major, minor byte, fields ...any) uint16 {
	c.seq++
	c.conn.Write(c.req(major, minor, fields...))
	return c.seq
}

// read gives the next message as a whole, nil at the end.
func (c *client) read() []byte {
	m := make([]byte, messageSize)
	if _, err := io.ReadFull(c.conn, m); err != nil {
		return nil
	}
	if m[0] == msgReply || m[0]&0x7f == msgGeneric {
		rest := make([]byte, 4*c.order.u32(m[4:]))
		if _, err := io.ReadFull(c.conn, rest); err != nil {
			return nil
		}
		m = append(m, rest...)
	}
	return m
}

// answer waits for the error or reply to a request; events are kept.
func (c *client) answer(seq uint16) []byte {
	c.t.Helper()
	for {
		m := c.read()
		if m == nil {
			return nil
		}
		if m[0] <= msgReply && c.order.u16(m[2:]) == seq {
			return m
		}
		c.events = append(c.events, m)
	}
}

// call sends and waits.
func (c *client) call(major, minor byte, fields ...any) []byte {
	c.t.Helper()
	return c.answer(c.send(major, minor, fields...))
}

// try sends a request without a reply and says which error it got, 0 if none, -1
// if the connection ended.
func (c *client) try(major, minor byte, fields ...any) int {
	c.t.Helper()
	seq := c.send(major, minor, fields...)
	sync := c.send(43, 0)
	for {
		m := c.read()
		switch {
		case m == nil:
			return -1
		case m[0] == msgError && c.order.u16(m[2:]) == seq:
			c.answer(sync)
			return int(m[1])
		case m[0] == msgReply && c.order.u16(m[2:]) == sync:
			return 0
		case m[0] > msgReply:
			c.events = append(c.events, m)
		}
	}
}

// sync waits until all that was sent is done; false if the connection ended.
func (c *client) sync() bool { return c.call(43, 0) != nil }

// drain syncs and gives the events that came, by code.
func (c *client) drain() map[byte]int {
	c.sync()
	n := make(map[byte]int)
	for _, e := range c.events {
		n[e[0]&0x7f]++
	}
	c.events = nil
	return n
}

// extension gives a number of an extension; 0 if there is none.
func (c *client) extension(name string) byte {
	r := c.call(98, 0, uint16(len(name)), uint16(0), name)
	if r == nil || r[0] != msgReply || r[8] == 0 {
		return 0
	}
	c.ext[name] = [2]byte{r[9], r[10]}
	return r[9]
}

func (c *client) atom(name string) uint32 {
	r := c.call(16, 0, uint16(len(name)), uint16(0), name)
	return c.order.u32(r[8:])
}

// window makes and maps a window that listens.
func (c *client) window(x, y, w, h int, mask uint32) uint32 {
	c.next++
	id := c.base + c.next
	c.send(1, 0, id, c.root, uint16(x), uint16(y), uint16(w), uint16(h), uint16(0), uint16(1), 0, 1<<11|1<<9, 1, mask)
	c.send(8, 0, id)
	c.sync()
	return id
}

// fake fakes a key, or a button, or a motion: 2 and 3 key, 4 and 5 button.
func (c *client) fake(kind, detail byte, x, y int) int {
	op := c.ext["XTEST"][0]
	if op == 0 {
		op = c.extension("XTEST")
	}
	return c.try(op, 2, kind, detail, uint16(0), 0, 0, 0, 0, uint16(x), uint16(y), 0, 0)
}

// property shows a property of the root, as xprop does inside.
func (w *world) property(name string) string {
	cmd := exec.Command("xprop", "-root", name)
	cmd.Env = w.env
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// dialFilter connects to the filter and says nothing yet.
func dialFilter(t testing.TB, w *world) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", fmt.Sprintf("/tmp/.X11-unix/X%d", w.number))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(30 * time.Second))
	return c
}
