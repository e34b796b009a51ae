package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// The rows of the suites of desktops.
const (
	rowXvfb         = "Xvfb alone"
	rowDisplay      = "a workspace's display, by API"
	rowDesktop      = "carrel start --display virtual, and its display"
	rowDesktopStart = "carrel start --display virtual"
	withGL          = ", GLX"

	onPlain = ", plain Xvfb"
	inDesk  = ", carrel exec NAME"
)

// desktopParts are the tables of workspaces with a desktop, by what -only calls them.
var desktopParts = []struct {
	name  string
	suite func(*desktopSuite) table
}{
	{"desktop-ready", (*desktopSuite).desktopReady},
	{"desktop-shots", (*desktopSuite).desktopShots},
	{"desktop-input", (*desktopSuite).desktopInput},
	{"desktop-windows", (*desktopSuite).desktopWindows},
	{"desktop-tree", (*desktopSuite).desktopTree},
	{"desktop-filter", (*desktopSuite).desktopFilter},
	{"desktop-memory", (*desktopSuite).desktopMemory},
	{"desktop-many", (*desktopSuite).desktopMany},
}

// desktopSuite has the tables of their desktops.
type desktopSuite struct{ *deskSuite }

// desktopSuites are those with a name, or all.
func (b *desktopSuite) desktopSuites(name string) []func() table {
	var list []func() table
	for _, part := range desktopParts {
		if name == "desktop" || name == part.name {
			list = append(list, func() table { return part.suite(b) })
		}
	}
	return list
}

// desktopPlace is a place for workspaces with desktops.
type desktopPlace struct {
	*deskPlace
	x  []string // how a workspace starts its X server
	gl []string // the same with OpenGL
}

// desktops is desks for tables of desktops.
func (b *desktopSuite) desktops(t table, measure func(t *table, p *desktopPlace) error) table {
	return b.desks(t, func(t *table, desk *deskPlace) error {
		p := &desktopPlace{deskPlace: desk}
		var err, err2 error
		p.x, err = p.serverArgs(false)
		p.gl, err2 = p.serverArgs(true)
		if err := errors.Join(err, err2, p.settings(false)); err != nil {
			return err
		}
		return measure(t, p)
	})
}

// settings decides whether the next workspaces have OpenGL.
func (p *desktopPlace) settings(gl bool) error {
	dir := p.b.fixture.root + "/desks/config/carrel"
	if err := mkdirs(dir); err != nil {
		return err
	}
	return os.WriteFile(dir+"/config.yaml", fmt.Appendf(nil, "display:\n  gl: %t\n", gl), 0o600)
}

// serverArgs looks how a workspace starts its X server.
func (p *desktopPlace) serverArgs(gl bool) ([]string, error) {
	if err := errors.Join(p.settings(gl), p.start("args")); err != nil {
		return nil, err
	}
	defer p.stopAll()
	list, err := processes(registry(p.runtime)[0].PID)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(one process) bool { return one.name == "Xvfb" })
	if i < 0 {
		return nil, errors.New("a workspace's display has no Xvfb")
	}
	return argsOf(list[i].pid)
}

// start has a workspace with a display that is ready.
func (p *desktopPlace) start(name string) error {
	if err := p.carrel(p.b.fixture.repo, "start", name, "--display", "virtual"); err != nil {
		return err
	}
	return p.ready(name)
}

// ready asks for the size of a display, which starts it where it has not been used.
func (p *desktopPlace) ready(name string) error { return p.see(name, asked{"size": true}) }

type asked map[string]any

// see has a workspace look at its desktop, and reads what it gives.
func (p *desktopPlace) see(name string, what any) error { return p.ask(name, "desktop-see", what) }

func (p *desktopPlace) ask(name, op string, what any) error {
	_, err := p.askFor(name, op, what)
	return err
}

// received is where pictures are read to; the largest is a screen's.
var received = make([]byte, 16<<20)

// askFor gives what came with the answer, until it asks again.
func (p *desktopPlace) askFor(name, op string, what any) ([]byte, error) {
	conn, err := dialDesk(p.runtime, name)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	var got []byte
	var wrong error
	_, err = converse(conn, request{Op: op, Desktop: what}, nil, func(r reply) {
		if r.Desktop == nil || r.Desktop.Bytes == 0 {
			return
		}
		if len(r.files) != 1 || r.Desktop.Bytes > int64(len(received)) {
			wrong = fmt.Errorf("%d files of %d bytes came", len(r.files), r.Desktop.Bytes)
			return
		}
		got = received[:r.Desktop.Bytes]
		_, wrong = io.ReadFull(r.files[0], got)
	})
	return got, errors.Join(err, wrong)
}

// job is a contender that this program does itself: argv is what shows that it works.
func (p *desktopPlace) job(name string, args ...string) *contender {
	return &contender{name: name, dir: p.b.fixture.repo, env: p.env, argv: append([]string{p.b.carrel}, args...)}
}

// on is a contender of a program on a plain server; without the program there is none.
func (p *desktopPlace) on(x *plainX, name string, argv ...string) *contender {
	c := &contender{name: name, dir: p.b.fixture.repo, env: x.env}
	if at := find(argv[0]); at != "" {
		c.argv = append([]string{at}, argv[1:]...)
	}
	return c
}

// desktopReady is how long it takes until a display answers.
func (b *desktopSuite) desktopReady() table {
	t := table{title: "Desktops: until one is ready", unit: "ms", about: "From fork until Xvfb, with the arguments that a workspace gives it, has answered a connection; from fork of `carrel start`, which begins with the display beside the walls, until it has returned, and until a question for the display's size after it is answered; and that question half a second later, when the display is there."}
	return b.desktops(t, func(t *table, p *desktopPlace) error {
		var list []*contender
		for _, gl := range []string{"", withGL} {
			for _, name := range []string{rowXvfb, rowDesktopStart, rowDisplay, rowDesktop} {
				if gl == "" || name != rowDesktopStart {
					list = append(list, p.job(name+gl, "version"))
				}
			}
		}
		b.interleave("desktops: ready", max(b.rounds/2, 1), list, func(c *contender) (float64, error) {
			switch c.name {
			case rowXvfb:
				return p.aloneX(p.x)
			case rowXvfb + withGL:
				return p.aloneX(p.gl)
			}
			if err := p.settings(c.name == rowDisplay+withGL || c.name == rowDesktop+withGL); err != nil {
				return 0, err
			}
			defer p.stopAll()
			begin := time.Now()
			err := p.carrel(c.dir, "start", "one", "--display", "virtual")
			if c.name == rowDesktopStart {
				return millis(time.Since(begin)), err
			}
			if c.name == rowDisplay || c.name == rowDisplay+withGL {
				time.Sleep(settle / 4)
				begin = time.Now()
			}
			if err == nil {
				err = p.ready("one")
			}
			return millis(time.Since(begin)), err
		})
		t.rows = rows(list)
		for _, gl := range []string{"", withGL} {
			t.compare(rowDesktop+gl, rowXvfb+gl, 1.5, "a workspace with its desktop, against Xvfb alone"+gl)
		}
		return nil
	})
}

// aloneX times a server's start.
func (p *desktopPlace) aloneX(args []string) (float64, error) {
	begin := time.Now()
	x, err := startX(args, p.runtime, p.env)
	took := millis(time.Since(begin))
	if err == nil {
		x.stop()
	}
	return took, err
}

// opened is a program with a window: its title tells which, and area where it is put, x,
// y, width and height; nowhere for zero.
type opened struct {
	title string
	argv  []string
	area  [4]int
}

// both opens the same windows in a workspace and on a plain server, and has them
// measured.
func (p *desktopPlace) both(windows []opened, measure func(x *plainX) error) error {
	if err := p.start("one"); err != nil {
		return err
	}
	x, err := startX(p.x, p.runtime, p.env)
	if err != nil {
		return err
	}
	defer x.stop()
	if err := x.launch("/", "openbox", "--sm-disable"); err != nil {
		return err
	}
	for _, w := range windows {
		if find(w.argv[0]) == "" {
			return fmt.Errorf("%s: %w", w.argv[0], errMissing)
		}
		if _, err := askDesk(p.runtime, "one", request{Op: "launch", Command: &command{Argv: w.argv}}); err != nil {
			return err
		}
		if err := x.launch(p.b.fixture.repo, w.argv...); err != nil {
			return err
		}
	}
	for _, w := range windows {
		if err := p.see("one", asked{"windows": asked{"wait": true, "title": w.title}}); err != nil {
			return fmt.Errorf("waiting for the window %q of %s: %w", w.title, w.argv[0], err)
		}
		if err := errors.Join(p.put(nil, w), p.put(x, w)); err != nil {
			return err
		}
	}
	time.Sleep(2 * settle)
	return measure(x)
}

// put places a window and gives it the focus, in the workspace where there is no other
// server; by the same program there and here.
func (p *desktopPlace) put(x *plainX, w opened) error {
	argv := []string{"wmctrl", "-R", w.title}
	if w.area != [4]int{} {
		argv = []string{"wmctrl", "-r", w.title, "-e", fmt.Sprintf("0,%d,%d,%d,%d", w.area[0], w.area[1], w.area[2], w.area[3])}
	}
	return until(func() error {
		if x == nil {
			return p.carrel(p.b.fixture.repo, append([]string{"exec", "one", "--"}, argv...)...)
		}
		return once("/", x.env, argv)
	})
}
