package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"carrel/internal/api"
	"carrel/internal/decide"
	"carrel/internal/screen"
	"carrel/internal/supervisor"
	"carrel/internal/tty"

	"golang.org/x/sys/unix"
)

// Sizes of terminals.
const (
	usualColumns  = 100
	usualRows     = 30
	keptLines     = 1000      // that have left the screen
	maxScrollback = 256 << 10 // bytes of them that are told at once
	maxScreenLine = 3 << 10   // bytes of one line that are told: one character in each column, whichever
	maxScreen     = 1000 << 10
	attachQueue   = 64 // pieces for somebody who reads slowly; then the screen is painted anew
)

// terminal is a pseudoterminal whose near end the supervisor holds. What programs
// write there is kept as a screen, for whoever looks at it as text, and handed to
// those who are attached.
type terminal struct {
	near *os.File

	mu       sync.Mutex
	screen   *screen.Screen
	columns  int
	rows     int
	watchers map[*watcher]bool
	ended    bool
}

// watcher is somebody who is attached. One that is behind gets the whole screen.
type watcher struct {
	pieces chan []byte
	behind bool // under terminal.mu
}

// newTerminal starts a shell, or a command, with a screen.
func (d *desk) newTerminal(req *api.Request) (api.Reply, error) {
	var cmd api.Command
	if req.Command != nil {
		cmd = *req.Command
	}
	if len(cmd.Argv) == 0 {
		cmd.Argv = []string{decide.ShellIn(d.p.Policy.Backend, d.p.Getenv)}
	}
	near, far, err := d.up.walls.NewPty()
	if err != nil {
		return api.Reply{}, err
	}
	defer far.Close()
	t := &terminal{near: os.NewFile(uintptr(tty.Dup(near)), "terminal"), watchers: make(map[*watcher]bool)}
	t.columns, t.rows = sizeOr(cmd.Columns, usualColumns, tty.MaxColumns), sizeOr(cmd.Rows, usualRows, tty.MaxRows)
	t.screen = screen.New(t.columns, t.rows, keptLines)
	tty.Resize(t.near, t.columns, t.rows)
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	a, exit, err := d.apps.start(started{kind: api.AppTerminal, cmd: cmd, stdio: [3]*os.File{far, far, far}, term: t})
	if err != nil {
		t.near.Close()
		return notStartedReply(exit, err)
	}
	d.busy.Go(t.read)
	said := d.apps.told(a, false)
	return api.Reply{App: &said}, nil
}

func sizeOr(n, usual, most int) int {
	if n <= 0 {
		return usual
	}
	return min(n, most)
}

// read takes what programs write until the last one has closed the terminal.
func (t *terminal) read() {
	buf := make([]byte, 32<<10)
	for {
		n, err := t.near.Read(buf)
		if n > 0 {
			t.wrote(buf[:n])
		}
		if err != nil {
			break
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	for w := range t.watchers {
		close(w.pieces)
	}
	clear(t.watchers)
	t.near.Close()
}

func (t *terminal) wrote(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = t.screen.Write(b)
	if answers := t.screen.Answers(); len(answers) > 0 && len(t.watchers) == 0 { // who is attached answers
		_, _ = t.put(answers) // what a program does not read it has not asked for
	}
	for w := range t.watchers {
		w.offer(append([]byte(nil), b...))
	}
}

// offer hands a piece on; the lock is held.
func (w *watcher) offer(b []byte) {
	if w.behind {
		return
	}
	select {
	case w.pieces <- b:
	default:
		w.behind = true
	}
}

func (t *terminal) title() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen.Title()
}

// look gives the screen as text.
func (t *terminal) look(id string, full bool) *api.Screen {
	t.mu.Lock()
	defer t.mu.Unlock()
	column, row, visible := t.screen.Cursor()
	s := &api.Screen{App: id, Title: t.screen.Title(), Columns: t.columns, Rows: t.rows, Lines: t.screen.Lines(), Cursor: [2]int{column, row}, Hidden: !visible}
	left := maxScreen
	for i, l := range s.Lines {
		var size int
		s.Lines[i], size = fitting(l, maxScreenLine)
		left -= size
	}
	if full {
		s.Scrollback = newest(t.screen.Scrollback(), min(left, maxScrollback))
	}
	return s
}

// newest gives the last lines, of so many bytes together at most, as JSON has them.
func newest(lines []string, most int) []string {
	i := len(lines)
	for ; i > 0; i-- {
		fits, size := fitting(lines[i-1], most)
		if len(fits) < len(lines[i-1]) || size > most {
			break
		}
		most -= size
	}
	return lines[i:]
}

// fitting cuts a line to so many bytes as JSON has it, and says how many it is then.
func fitting(line string, most int) (string, int) {
	size := len(`"",`)
	for at, c := range line {
		n := utf8.RuneLen(c)
		switch {
		case c == '"' || c == '\\':
			n = 2
		case c < ' ' || c == 0x7f || c == '\u2028' || c == '\u2029' || c == utf8.RuneError:
			n = len(`\u2028`)
		}
		if size+n > most {
			return line[:at], size
		}
		size += n
	}
	return line, size
}

// typed sends text and keys to a terminal. What was typed is not kept; how much is.
func (d *desk) typed(ctx context.Context, a *app, in *api.Input) error {
	if in == nil {
		return api.Refused(api.CodeRequest, api.OpTerminalSend, a.info.ID, "nothing to send", "--text, keys, or a new size")
	}
	n, err := a.term.send(ctx, in)
	d.server.Emit(api.Event{Kind: api.EventInput, Text: fmt.Sprintf("%s: %d bytes", a.info.ID, n)})
	return err
}

// send types, and waits where the program does not read, until ctx ends.
func (t *terminal) send(ctx context.Context, in *api.Input) (int, error) {
	t.mu.Lock()
	if t.ended {
		t.mu.Unlock()
		return 0, errors.New("the terminal's program has ended")
	}
	b := append([]byte(nil), in.Data...)
	if in.Text != "" {
		b = append(b, t.screen.Paste(in.Text)...)
	}
	for _, key := range in.Keys {
		typed, err := t.screen.Key(key)
		if err != nil {
			t.mu.Unlock()
			return 0, err
		}
		b = append(b, typed...)
	}
	if in.Columns > 0 && in.Rows > 0 {
		t.columns, t.rows = min(in.Columns, tty.MaxColumns), min(in.Rows, tty.MaxRows)
		t.screen.Resize(t.columns, t.rows)
		tty.Resize(t.near, t.columns, t.rows)
	}
	t.mu.Unlock()
	done := 0
	for {
		n, err := t.put(b[done:])
		if done += n; done == len(b) || err != nil {
			return done, err
		}
		select {
		case <-ctx.Done():
			return done, fmt.Errorf("the program does not read: %d of %d bytes were typed", done, len(b))
		case <-time.After(deafPeriod):
		}
	}
}

// deafPeriod is how long it takes until a program that does not read is offered more.
const deafPeriod = 5 * time.Millisecond

// put writes as much as the terminal takes now, which may be nothing.
func (t *terminal) put(b []byte) (n int, err error) {
	raw, err := t.near.SyscallConn()
	if err != nil || len(b) == 0 {
		return 0, err
	}
	var wrote error
	err = raw.Control(func(fd uintptr) { n, wrote = unix.Write(int(fd), b) })
	if err == nil && wrote != unix.EAGAIN && wrote != unix.EINTR {
		err = wrote
	}
	return max(n, 0), err
}

// attach hands a terminal's bytes on, both ways, until one side ends.
func (d *desk) attach(ctx context.Context, c *supervisor.Call, a *app) (api.Reply, error) {
	t := a.term
	w := &watcher{pieces: make(chan []byte, attachQueue)}
	t.mu.Lock()
	if t.ended {
		t.mu.Unlock()
		return api.Reply{}, api.Refused(api.CodeNoApp, api.OpAttach, a.info.ID, "the terminal's program has ended", "`carrel terminal read "+d.req.Name+" "+a.info.ID+"` shows its last screen")
	}
	t.watchers[w] = true
	first := t.screen.Redraw()
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		delete(t.watchers, w)
		t.mu.Unlock()
	}()
	go func() {
		total := 0
		for in := range c.Inputs() {
			if in.Pastes {
				d.p.clipboard.Gesture()
			}
			n, _ := t.send(ctx, &in) // of a program that has ended: told below
			total += n
		}
		d.server.Emit(api.Event{Kind: api.EventInput, Text: fmt.Sprintf("%s: %d bytes by somebody attached", a.info.ID, total)})
	}()
	if err := sendPieces(c, first); err != nil {
		return api.Reply{}, err
	}
	for {
		select {
		case b, ok := <-w.pieces:
			if !ok {
				select {
				case <-a.done:
				case <-ctx.Done():
					return d.lastWord(ctx, a)
				}
				last := d.apps.told(a, false)
				return api.Reply{App: &last}, nil
			}
			if err := sendPieces(c, b); err != nil {
				return api.Reply{}, err
			}
			if len(w.pieces) == 0 {
				t.catchUp(w)
			}
		case <-ctx.Done():
			if d.ending() { // its program may end a moment later
				return d.lastWord(ctx, a)
			}
			return api.Reply{}, ctx.Err()
		}
	}
}

// maxPiece bounds one piece of a screen, in bytes.
const maxPiece = 32 << 10

// sendPieces sends what may be longer than a line: a whole screen of colours is.
func sendPieces(c *supervisor.Call, b []byte) error {
	for piece := range slices.Chunk(b, maxPiece) {
		if err := c.Send(api.Reply{Output: &api.Output{Stream: api.StreamStdout, Data: piece}}); err != nil {
			return err
		}
	}
	return nil
}

// catchUp paints the screen anew for a watcher that has lost some.
func (t *terminal) catchUp(w *watcher) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.behind && !t.ended {
		w.behind = false
		w.offer(t.screen.Redraw())
	}
}
