package gui

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
	xclient "carrel/internal/desktop"
	"carrel/internal/hostfacts"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/sandbox/stage"
	"carrel/internal/seccomp"
	"carrel/internal/xvfb"
)

// TestMain lets the test program be the stage of a display's walls.
func TestMain(m *testing.M) {
	if sandbox.IsStage(os.Args[0]) {
		stage.Main()
	}
	os.Exit(m.Run())
}

// raise raises the walls of a display, as package session does.
func raise(pol *policy.Effective, binds, files []sandbox.Mount) (*sandbox.Walls, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	arch, err := seccomp.HostArch()
	if err != nil {
		return nil, err
	}
	filter, err := seccomp.Build(seccomp.Options{Arch: arch, Nesting: policy.NestedNone, NoGroupSignals: true})
	if err != nil {
		return nil, err
	}
	plan, err := sandbox.Compile(sandbox.Input{
		Policy: pol, Engine: sandbox.EngineNamespaces, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Binds: binds, Files: files,
		Self: self, Seccomp: seccomp.Marshal(filter), HighestPID: hostfacts.HighestPID(),
	}, hostfacts.New())
	if err != nil {
		return nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	return sandbox.Launch(plan, "/proc/self/exe", nil, [3]*os.File{null, null, null}, nil, nil, nil)
}

// newDesktop makes a desktop without a session bus, of a workspace in which nothing runs.
func newDesktop(t *testing.T, c Config) *Desktop {
	t.Helper()
	if !Available() {
		t.Skip("there is no X server here")
	}
	c.Dirs, c.Size, c.Runtime, c.Raise = []string{t.TempDir() + "/d"}, policy.Size{Width: 640, Height: 480}, "/run/user/1", raise
	c.Environ = func() []string { return nil }
	c.Below = func(int) []int { return nil }
	c.Note = func(format string, args ...any) { t.Errorf(format, args...) }
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	d.buses.session = nil
	walls, err := raise(displayPolicy(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(walls.Kill)
	d.Attach(walls, nil)
	return d
}

// program connects to a display as one inside does, with a cookie.
func (d *Desktop) program(ctx context.Context, cookie []byte) (*xclient.Desktop, error) {
	return xclient.Open(ctx, func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(d.place.InsideDir(), d.place.Socket()))
	}, cookie)
}

// within is a time that a busy machine takes.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestServerComesWithTheFirstProgram: none runs before; a program needs the cookie of the inside, and
// neither the server's own nor none at all lets it in. After the last one the server is let go of later.
func TestServerComesWithTheFirstProgram(t *testing.T) {
	t.Parallel()
	d := newDesktop(t, Config{})
	ctx := within(t)
	if d.current() != nil {
		t.Error("a server runs that no program asked for")
	}
	for name, cookie := range map[string][]byte{"the server's": d.Cookie(), "none": nil, "another": make([]byte, 16)} {
		if c, err := d.program(ctx, cookie); err == nil {
			c.Close()
			t.Errorf("%s lets a program in", name)
		}
	}
	c, err := d.program(ctx, d.inner)
	if err != nil {
		t.Fatal(err)
	}
	if w, h, err := c.Size(ctx); err != nil || w != 640 || h != 480 {
		t.Errorf("%dx%d, %v", w, h, err)
	}
	d.display.mu.Lock()
	clients, release := d.clients, d.release
	d.display.mu.Unlock()
	if d.current() == nil || clients != 1 || release != nil {
		t.Errorf("%d programs, server %v, let go of %v", clients, d.current(), release)
	}
	c.Close()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		d.display.mu.Lock()
		clients, release = d.clients, d.release
		d.display.mu.Unlock()
		if clients == 0 && release != nil {
			break
		}
		if time.Since(began) > 20*time.Second {
			t.Fatalf("%d programs after the last one, let go of: %v", clients, release)
		}
	}
	s := d.current()
	d.letGo()
	if <-s.gone; d.current() != nil {
		t.Error("a server is left")
	}
}

// TestModeHoldsPrograms: programs press keys and move the pointer in an active workspace alone;
// another mode lets go of what they hold, and the person outside acts in each.
func TestModeHoldsPrograms(t *testing.T) {
	t.Parallel()
	d := newDesktop(t, Config{})
	ctx := within(t)
	c, err := d.program(ctx, d.inner)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	person, done, err := d.client(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	move := func(who *xclient.Desktop, to image.Point) (image.Point, error) {
		err := who.Input(ctx, xclient.Move{To: to})
		at, err2 := person.Pointer(ctx)
		return at, errors.Join(err, err2)
	}
	if at, err := move(c, image.Pt(20, 30)); err != nil || at != image.Pt(20, 30) {
		t.Errorf("active: %v, %v", at, err)
	}
	d.SetMode(api.ControlPaused)
	if at, _ := move(c, image.Pt(40, 50)); at != image.Pt(20, 30) {
		t.Errorf("paused: %v", at)
	}
	if at, err := move(person, image.Pt(60, 70)); err != nil || at != image.Pt(60, 70) {
		t.Errorf("a person: %v, %v", at, err)
	}
	d.SetMode(api.ControlActive)
	again, err := d.program(ctx, d.inner)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if at, err := move(again, image.Pt(80, 90)); err != nil || at != image.Pt(80, 90) {
		t.Errorf("active again: %v, %v", at, err)
	}
}

// TestSeatSeesAndActs: what is asked for is seen and done on the real display.
func TestSeatSeesAndActs(t *testing.T) {
	t.Parallel()
	d := newDesktop(t, Config{})
	ctx := within(t)
	seat := &Seat{Desktop: d, Apps: func() map[uint64]string { return nil }, Label: func(app string) (uint64, error) {
		return 0, errors.New("there is no app " + app)
	}}
	see := func(what *api.Desktop) (*api.DesktopReply, document, error) { return seat.see(ctx, d, what, nil) }
	act := func(what *api.Desktop) error {
		_, _, err := seat.act(ctx, d, what, nil)
		return err
	}
	if said, _, err := see(&api.Desktop{Size: true}); err != nil || *said.Size != [2]int{640, 480} {
		t.Fatalf("%+v, %v", said, err)
	}
	if err := act(&api.Desktop{Steps: []api.DesktopInput{{Do: "move", At: &[2]int{11, 12}}}}); err != nil {
		t.Error(err)
	}
	if said, _, err := see(&api.Desktop{Pointer: true}); err != nil || *said.Pointer != [2]int{11, 12} {
		t.Errorf("%+v, %v", said, err)
	}
	said, doc, err := see(&api.Desktop{Shot: &api.Shot{Area: &[4]int{0, 0, 64, 48}}})
	if err != nil || doc.kind != api.TypePNG || said.Picture.Width != 64 {
		t.Fatalf("%+v, %v", said, err)
	}
	f, err := doc.sealed()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if p, err := png.Decode(io.NewSectionReader(f, 0, 1<<20)); err != nil || p.Bounds() != image.Rect(0, 0, 64, 48) {
		t.Errorf("%v", err)
	}
	again, doc, err := see(&api.Desktop{Shot: &api.Shot{Area: &[4]int{0, 0, 64, 48}, Since: said.Picture.Token}})
	if err != nil || !again.Picture.Unchanged || doc.kind != "" {
		t.Errorf("%+v, %v", again, err)
	}
	if _, doc, err := see(&api.Desktop{Windows: &api.Windows{}}); err != nil || !bytes.HasPrefix(doc.data, []byte("[")) {
		t.Errorf("%s, %v", doc.data, err)
	}
	if err := act(&api.Desktop{Resize: &[2]int{320, 200}}); err != nil {
		t.Error(err)
	}
	if said, _, err := see(&api.Desktop{Size: true}); err != nil || *said.Size != [2]int{320, 200} {
		t.Errorf("%+v, %v", said, err)
	}
	if _, _, err := see(&api.Desktop{ScreenWait: &api.ScreenWait{Quiet: 1, Millis: 20_000}}); err != nil {
		t.Error(err)
	}
	if _, _, err := see(&api.Desktop{ScreenWait: &api.ScreenWait{Changes: true, Area: &[4]int{0, 0, 1, 1},
		Millis: 50}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nothing is painted, and it was seen: %v", err)
	}
	for want, what := range map[string]*api.Desktop{
		"nothing to look at": {}, "is no window": {Shot: &api.Shot{Window: "w"}}, "has no pixels": {Shot: &api.Shot{Area: &[4]int{}}},
		"title: ": {Windows: &api.Windows{Title: "("}}, "class: ": {Windows: &api.Windows{Class: "("}},
		"there is no app x": {Windows: &api.Windows{App: "x"}},
	} {
		if _, _, err := see(what); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for want, what := range map[string]*api.Desktop{
		"nothing to do": {}, "step 1: there is no step": {Steps: []api.DesktopInput{{Do: "x"}}}, "0 came": {Copy: &api.Clip{}},
		"a window cannot be": {Window: &api.WindowChange{Window: "0x1", Do: "x"}},
	} {
		if err := act(what); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestLostServer: the end of a server ends its programs' connections, and the next one gets another
// server; the one that was lost is not taken for it.
func TestLostServer(t *testing.T) {
	t.Parallel()
	d := newDesktop(t, Config{})
	ctx := within(t)
	c, err := d.program(ctx, d.inner)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := d.current()
	s.walls.Kill()
	<-s.gone
	select {
	case <-c.Done():
	case <-ctx.Done():
		t.Fatal("the connection to a lost server stays")
	}
	next, err := d.program(ctx, d.inner)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if w, _, err := next.Size(ctx); err != nil || w != 640 || d.current() == s || d.current() == nil {
		t.Errorf("%d, %v, the same server: %v", w, err, d.current() == s)
	}
}

// TestKeymapIsKept: the first start of a server compiles the keyboard map and keeps it, and the next one
// takes it; a map that no server reads is forgotten, and the start goes on without.
func TestKeymapIsKept(t *testing.T) {
	t.Parallel()
	c := Config{Keymaps: t.TempDir()}
	first := newDesktop(t, c)
	ctx := within(t)
	if _, err := first.running(ctx, false); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(c.Keymaps, keymapFile)
	kept, err := os.ReadFile(file)
	if err != nil || !bytes.HasPrefix(kept, []byte(keymapHead)) {
		t.Skip("a map is not kept where the display's directory may not execute: ", err)
	}
	first.Close()
	second := newDesktop(t, c)
	if k := keptKeymap(c.Keymaps, second.place); k.compiled == nil {
		t.Fatal("what was kept is not taken")
	}
	if _, err := second.running(ctx, false); err != nil {
		t.Fatal(err)
	}
	second.Close()
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, kept) {
		t.Errorf("it was compiled again: %v", err)
	}
}

// TestWatchingADisplay: a viewer gets the address and a password; a second request shares the port, and
// asks for no other. The port goes with the last of them.
func TestWatchingADisplay(t *testing.T) {
	t.Parallel()
	d := newDesktop(t, Config{})
	ctx := within(t)
	if !installed(xvfb.VNC) {
		var why *api.Denial
		if _, err := d.viewing.open(0); !errors.As(err, &why) || why.Code != api.CodeNoDesktop {
			t.Errorf("%v", err)
		}
		return
	}
	watching, leave := context.WithCancel(ctx)
	told, ended := make(chan api.Watching, 1), make(chan error, 1)
	go func() {
		ended <- d.Watch()(watching, api.Watch{}, true, func(w api.Watching) error { told <- w; return nil })
	}()
	var said api.Watching
	select {
	case said = <-told:
	case err := <-ended:
		t.Fatal(err)
	}
	if said.Password == "" || !said.Acts || said.Human != keysSeen || said.Stays {
		t.Errorf("%+v", said)
	}
	viewer, err := net.Dial("tcp", said.Address)
	if err != nil {
		t.Fatal(err)
	}
	_ = viewer.SetDeadline(time.Now().Add(time.Minute))
	if line, err := bufio.NewReader(viewer).ReadString('\n'); err != nil || line != "RFB 003.008\n" {
		t.Errorf("%q, %v", line, err)
	}
	viewer.Close()
	port := uint16(d.viewing.at.listener.Addr().(*net.TCPAddr).Port)
	if _, err := d.viewing.open(port + 1); err == nil || !strings.Contains(err.Error(), "cannot be had: this display is watched at port") {
		t.Errorf("%v", err)
	}
	if at, err := d.viewing.open(port); err != nil || at != d.viewing.at {
		t.Errorf("%v", err)
	}
	d.viewing.leave()
	leave()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", said.Address); err == nil {
		c.Close()
		t.Error("the port is left")
	}
	if d.Close(); d.viewing.at != nil {
		t.Error("it is watched after its end")
	}
	if _, err := d.viewing.open(0); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// TestNothingIsLeftOfADesktop: its directory, number and sockets go with it, whether a server ran or not,
// and what is asked afterwards is refused.
func TestNothingIsLeftOfADesktop(t *testing.T) {
	t.Parallel()
	d := newDesktop(t, Config{})
	binds, files, sockets := d.Mounts()
	if len(sockets) != 0 || len(binds) != 1 || !binds[0].ReadOnly || binds[0].Source != d.place.InsideDir() || len(files) != 1 ||
		files[0].Target != Authority("/run/user/1") || files[0].Perm != 0o600 || d.Bus() != "" {
		t.Errorf("%+v, %+v, %q", binds, files, sockets)
	}
	if bytes.Contains(files[0].Data, d.Cookie()) || !bytes.Contains(files[0].Data, d.inner) {
		t.Error("the inside has the server's cookie, or not its own")
	}
	d.Begin()
	conn, err := d.Dial(within(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s := d.current()
	d.WillEnd()
	d.Close()
	d.Close()
	<-s.gone
	if _, err := os.Lstat(d.place.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", d.place.Dir, err)
	}
	if _, err := d.Dial(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
	if _, err := d.program(t.Context(), d.inner); err == nil {
		t.Error("a program is let in after the end")
	}
}
