package a11y

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel/internal/dbus"
)

// desk is a display and a private session bus for one test, as a workspace has them.
type desk struct {
	t       *testing.T
	dir     string
	display string
	bus     string // socket of the session bus
	env     []string
}

// program is the path of one that a test needs; without it the test is left out.
func program(t *testing.T, name, pkg string) string {
	t.Helper()
	p, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed: apt-get install %s", name, pkg)
	}
	return p
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	xvfb, daemon := program(t, "Xvfb", "xvfb"), program(t, "dbus-daemon", "dbus-daemon")
	files := ServiceFiles(os.DirFS("/"))
	if files["org.a11y.Bus.service"] == nil {
		t.Skip("there is no accessibility bus: apt-get install at-spi2-core")
	}
	// The name is short: a socket's path has 108 bytes at most.
	dir, err := os.MkdirTemp("", "carrel-a11y-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := &desk{t: t, dir: dir, bus: filepath.Join(dir, "bus")}
	for _, sub := range []string{"home", "run", ServicesName} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		d.write(filepath.Join(ServicesName, name), text)
	}
	d.write("session.conf", BusConfig(d.bus))
	d.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "XDG_RUNTIME_DIR=" + filepath.Join(dir, "run"),
		"LC_ALL=C.UTF-8", "GSETTINGS_BACKEND=memory", "TMPDIR=" + dir,
		"DBUS_SESSION_BUS_ADDRESS=unix:path=" + dbus.EscapeAddress(d.bus), "QT_LINUX_ACCESSIBILITY_ALWAYS_ON=1", "GNOME_ACCESSIBILITY=1",
	}
	d.display = d.startXvfb(xvfb)
	// No display for the bus: what it starts has nothing to do there.
	d.start(nil, daemon, "--nofork", "--nopidfile", "--config-file="+filepath.Join(dir, "session.conf"))
	d.env = append(d.env, "DISPLAY="+d.display)
	return d
}

func (d *desk) write(name string, text []byte) string {
	d.t.Helper()
	p := filepath.Join(d.dir, name)
	if err := os.WriteFile(p, text, 0o600); err != nil {
		d.t.Fatal(err)
	}
	return p
}

func (d *desk) startXvfb(path string) string {
	d.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		d.t.Fatal(err)
	}
	defer r.Close()
	d.start(w, path, "-displayfd", "3", "-screen", "0", "1280x800x24", "-nolisten", "tcp", "-noreset")
	w.Close()
	_ = r.SetReadDeadline(time.Now().Add(20 * time.Second))
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		d.t.Fatalf("Xvfb told no display: %v", err)
	}
	return ":" + strings.TrimSpace(line)
}

// start runs a program until the test ends, with all that it starts.
func (d *desk) start(extra *os.File, name string, args ...string) *exec.Cmd {
	d.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Dir = d.env, d.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if extra != nil {
		cmd.ExtraFiles = []*os.File{extra}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		gone := make(chan struct{})
		go func() { _ = cmd.Wait(); close(gone) }()
		select {
		case <-gone:
		case <-time.After(3 * time.Second):
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-gone
		}
		if d.t.Failed() {
			d.t.Logf("%s said: %s", filepath.Base(name), dbus.Clip(out.String(), 2000))
		}
	})
	return cmd
}

// open connects as a supervisor would, to sockets of this desk only.
func (d *desk) open() *Bus {
	d.t.Helper()
	ctx := deadline(d.t, 20*time.Second)
	var session net.Conn
	var err error
	for {
		if session, err = net.Dial("unix", d.bus); err == nil {
			break
		}
		if ctx.Err() != nil {
			d.t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	b, err := Open(ctx, session, func(ctx context.Context, path string) (net.Conn, error) {
		if !strings.HasPrefix(path, d.dir+"/") {
			return nil, fmt.Errorf("%q is not of this desk", path)
		}
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(b.Close)
	d.setRootProperty(RootProperty, b.Address())
	return b
}

// setRootProperty sets a STRING of the root window: three requests of the X11
// protocol, little-endian, to a server that asks for no cookie.
func (d *desk) setRootProperty(name, value string) {
	d.t.Helper()
	c, err := net.Dial("unix", "/tmp/.X11-unix/X"+strings.TrimPrefix(d.display, ":"))
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	put := binary.LittleEndian.AppendUint32
	pad := func(s string) []byte { return append([]byte(s), make([]byte, (4-len(s)%4)%4)...) }
	must := func(_ int, err error) {
		d.t.Helper()
		if err != nil {
			d.t.Fatal(err)
		}
	}
	must(c.Write([]byte("l\x00\x0b\x00\x00\x00\x00\x00\x00\x00\x00\x00")))
	head := make([]byte, 8)
	must(io.ReadFull(c, head))
	setup := make([]byte, 4*int(binary.LittleEndian.Uint16(head[6:])))
	must(io.ReadFull(c, setup))
	screens := 32 + (int(binary.LittleEndian.Uint16(setup[16:]))+3)&^3 + 8*int(setup[21])
	root := binary.LittleEndian.Uint32(setup[screens:])

	intern := pad(name)
	must(c.Write(append([]byte{16, 0, byte(2 + len(intern)/4), 0, byte(len(name)), 0, 0, 0}, intern...)))
	reply := make([]byte, 32)
	must(io.ReadFull(c, reply))
	atom := binary.LittleEndian.Uint32(reply[8:])

	text := pad(value)
	change := []byte{18, 0, byte(6 + len(text)/4), 0}
	change = put(put(put(change, root), atom), 31) // 31 is the type STRING
	change = put(append(change, 8, 0, 0, 0), uint32(len(value)))
	must(c.Write(append(change, text...)))
}

func deadline(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// wait waits for the one node that is meant.
func (d *desk) wait(b *Bus, q Query) *Node {
	d.t.Helper()
	f, err := b.Wait(deadline(d.t, 30*time.Second), q, false)
	if err != nil {
		d.show(b)
		d.t.Fatalf("%+v: %v", q, err)
	}
	return f.Nodes[0]
}

func (d *desk) show(b *Bus) {
	d.t.Helper()
	tree, err := b.Tree(deadline(d.t, 10*time.Second), Options{})
	if err != nil {
		d.t.Error(err)
		return
	}
	var s strings.Builder
	_ = tree.WriteText(&s)
	d.t.Logf("the tree:\n%s", s.String())
}

// saved waits until a file has a content.
func (d *desk) saved(path, want string) {
	d.t.Helper()
	var got []byte
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if got, _ = os.ReadFile(path); strings.TrimRight(string(got), "\n") == want {
			return
		}
	}
	d.t.Errorf("%s has %q, want %q", path, got, want)
}
