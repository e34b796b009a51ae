package tty

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"carrel/internal/clipboard"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Relay stands between the person's terminal and a run's command, only where
// display.clipboard is paste: somebody has to see that the person pressed the key, and
// it cannot be the command. Everywhere else the terminal is the command's own.
//
// The command leads a session with this terminal: keys that interrupt reach it as ever.
// It cannot be put into the background with Ctrl-Z, which nobody inside could undo.
type Relay struct {
	near, far *os.File
	Gesture   func() // is told of the key for pasting

	restore func()
	drained chan struct{}
}

// OpenRelay makes one where standard input and output are a terminal; nil where not.
func OpenRelay() (*Relay, error) {
	if !term.IsTerminal(0) || !term.IsTerminal(1) {
		return nil, nil
	}
	near, far, err := Open()
	if err == nil { // how the person's is set is how the command finds it
		var now *unix.Termios
		if now, err = unix.IoctlGetTermios(0, unix.TCGETS); err == nil {
			err = unix.IoctlSetTermios(int(far.Fd()), unix.TCSETS, now)
		}
	}
	if err != nil {
		near.Close()
		far.Close()
		return nil, fmt.Errorf("making a terminal: %w", err)
	}
	r := &Relay{near: near, far: far, drained: make(chan struct{})}
	r.resize()
	return r, nil
}

// resize gives the command's terminal the size of the person's.
func (r *Relay) resize() {
	if columns, rows, err := term.GetSize(1); err == nil {
		Resize(r.near, columns, rows)
	}
}

// Open makes a terminal, see pty(7): near is for what looks at it and types, far for programs.
// With an error each may be nil.
func Open() (near, far *os.File, err error) {
	if near, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	number, err := unix.IoctlGetInt(int(near.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(near.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		far, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	return near, far, err
}

// Name is that of the terminal that the command has, "" for none.
func (r *Relay) Name() string {
	if r == nil {
		return ""
	}
	return r.far.Name()
}

// Streams are the command's standard descriptors: what was the person's terminal is this one.
func (r *Relay) Streams() [3]*os.File {
	files := [3]*os.File{os.Stdin, os.Stdout, os.Stderr}
	if r == nil {
		return files
	}
	for i, f := range files {
		if term.IsTerminal(int(f.Fd())) {
			files[i] = r.far
		}
	}
	return files
}

// Start begins to carry, once the command has been started; interrupt is told of keys that end it.
func (r *Relay) Start(interrupt func()) error {
	if r == nil {
		return nil
	}
	was, err := term.MakeRaw(0)
	if err != nil {
		return fmt.Errorf("taking the terminal over: %w", err)
	}
	r.far.Close() // or its end would never come
	r.resize()
	stop := OnResize(r.resize)
	r.restore = func() {
		stop()
		_ = term.Restore(0, was)
	}
	r.near = os.NewFile(uintptr(Dup(r.near)), "terminal") // anew, as it is polled from now on
	go func() {                                           // ends with the last process that has the terminal open
		_, _ = io.Copy(struct{ io.Writer }{os.Stdout}, struct{ io.Reader }{r.near})
		close(r.drained)
	}()
	typed := func(keys []byte) {
		if r.ends(keys) {
			r.settle()
			interrupt()
		}
	}
	go func() {
		_, _ = io.Copy(&Typed{To: r.near, Gesture: r.Gesture, typed: typed}, struct{ io.Reader }{os.Stdin})
	}()
	return nil
}

// ends says whether one of the keys ends what is in the foreground.
func (r *Relay) ends(keys []byte) (yes bool) {
	raw, err := r.near.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) {
		now, err := unix.IoctlGetTermios(int(fd), unix.TCGETS)
		yes = err == nil && now.Lflag&unix.ISIG != 0 && slices.ContainsFunc(keys, func(key byte) bool {
			return key != 0 && (key == now.Cc[unix.VINTR] || key == now.Cc[unix.VQUIT])
		})
	})
	return yes
}

// settle waits until the terminal has sent the signal of a key: it does so later than the
// key is written, and polling the far end waits for it.
func (r *Relay) settle() {
	far, err := unix.Open(r.Name(), unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return // nothing is there that could get it
	}
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(far), Events: unix.POLLIN}}, 0)
	unix.Close(far)
}

// Close gives the person their terminal back.
func (r *Relay) Close() {
	if r == nil {
		return
	}
	if r.restore != nil {
		select {
		case <-r.drained:
		case <-time.After(DrainTime):
		}
		r.restore()
	}
	r.near.Close()
	r.far.Close()
}

// Typed hands on what a person types, after it has told of the key for pasting.
type Typed struct {
	To      io.Writer
	Gesture func()
	keys    clipboard.Gestures
	typed   func([]byte) // told of what was handed on; may be nil
}

// Write implements [io.Writer].
func (s *Typed) Write(b []byte) (int, error) {
	if s.Gesture != nil && s.keys.In(b) {
		s.Gesture()
	}
	n, err := s.To.Write(b)
	if s.typed != nil {
		s.typed(b)
	}
	return n, err
}
