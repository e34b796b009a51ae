package shim

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"carrel/internal/fdpass"
	"carrel/internal/hostexec"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Exit statuses of a shim's own, as env(1) has them.
const (
	exitOurs       = 125
	exitNotRunable = 126
)

// Name gives the host command that this program was started as, "" for none.
func Name(argv0 string) string {
	name := filepath.Base(argv0)
	if name == "carrel" || name == "." || name == "/" {
		return ""
	}
	var st unix.Stat_t
	if unix.Lstat(hostexec.ShimDir+"/"+name, &st) != nil {
		return ""
	}
	return name
}

// Main has a host command run with this process's arguments and standard streams, and
// gives its exit status. One that a signal has ended ends this process likewise.
func Main(name string, args []string) int { return call(name, args, hostexec.StdioPassed) }

// Carried is Main where the socket passes no descriptors, as that of a virtual machine.
func Carried(name string, args []string) int { return call(name, args, hostexec.StdioFrames) }

func call(name string, args []string, stdio string) int {
	c, err := dial()
	if err != nil {
		return failed(name, fmt.Errorf("reaching the supervisor: %w", err), exitOurs)
	}
	defer c.Close()
	caught := make(chan os.Signal, 16)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGCONT, syscall.SIGTSTP, syscall.SIGWINCH)
	r := &run{conn: c, from: &fdpass.Reader{Conn: c}, name: name, stdio: stdio}
	return r.run(args, caught)
}

func dial() (*net.UnixConn, error) {
	return net.DialUnix("unix", nil, &net.UnixAddr{Name: hostexec.Socket, Net: "unix"})
}

func failed(name string, err error, status int) int {
	fmt.Fprintf(os.Stderr, "carrel: %s: %v\n", name, err)
	return status
}

// id is that of the one command of a shim.
const id = "1"

// run is one call.
type run struct {
	conn  *net.UnixConn
	from  *fdpass.Reader
	name  string
	stdio string // how the streams are carried

	send     sync.Mutex
	pipes    [3]*os.File // our ends of what is relayed
	lent     [3]*os.File // what the command gets
	out      sync.WaitGroup
	lost     [3]error // what could not be written, known when out is done
	terminal bool     // the command has one
	tty      *os.File // its near end, where that was passed
	reset    func()
	saying   sync.Mutex // held while a line is sent
}

func (r *run) run(args []string, caught <-chan os.Signal) int {
	cwd, err := os.Getwd()
	if err != nil {
		return failed(r.name, fmt.Errorf("finding the working directory: %w", err), exitNotRunable)
	}
	var tty *hostexec.Size
	if term.IsTerminal(0) && term.IsTerminal(1) && term.IsTerminal(2) {
		tty = size()
	} else if r.stdio == hostexec.StdioPassed {
		if err := r.plumb(); err != nil {
			return failed(r.name, err, exitOurs)
		}
	}
	if err := r.ask(hostexec.Ask(id, r.name, args, cwd, environ(), r.stdio, tty), tty != nil); err != nil {
		return failed(r.name, err, exitNotRunable)
	}
	go r.signals(caught)
	// What a reply consists of is worked out once, which takes a third of a millisecond:
	// now, while the command is being started.
	_ = json.Unmarshal([]byte("{}"), new(hostexec.Reply))
	return r.listen()
}

// ask sends the greeting and the request in one piece.
func (r *run) ask(lines []byte, terminal bool) error {
	if len(lines) >= hostexec.MaxLine {
		return fmt.Errorf("the arguments take %d bytes, and a request at most %d", len(lines), hostexec.MaxLine)
	}
	r.terminal = terminal
	if terminal || r.stdio == hostexec.StdioFrames {
		return fdpass.Send(r.conn, lines)
	}
	err := fdpass.Send(r.conn, lines, r.lent[:]...)
	for i, f := range r.lent {
		if r.pipes[i] != nil {
			f.Close() // the command's end
		}
	}
	r.relay()
	return err
}

// plumb finds out what the command gets as its streams: pipes as they are, and pipes of
// ours for everything else, whose other ends are relayed.
func (r *run) plumb() error {
	for i, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		if fdpass.Stream(f) == nil {
			r.lent[i] = f
			continue
		}
		from, to, err := os.Pipe()
		if err != nil {
			return err
		}
		if i == 0 {
			r.lent[i], r.pipes[i] = from, to
		} else {
			r.pipes[i], r.lent[i] = from, to
		}
	}
	return nil
}

func (r *run) relay() {
	if p := r.pipes[0]; p != nil {
		go func() {
			_, _ = io.Copy(p, os.Stdin)
			p.Close()
		}()
	}
	for i, f := range []*os.File{1: os.Stdout, 2: os.Stderr} {
		if p := r.pipes[i]; i > 0 && p != nil {
			r.out.Go(func() {
				if _, err := io.Copy(f, p); err != nil {
					r.lost[i] = err
					p.Close() // the command hears of it by SIGPIPE
				}
			})
		}
	}
}

// environ is what of ours may interest the command; the supervisor takes of it what may
// be passed. It goes nowhere else.
func environ() []string {
	env := os.Environ()
	total := 0
	for i, e := range env {
		if total += len(e); total > hostexec.MaxLine/4 {
			return env[:i]
		}
	}
	return env
}

func size() *hostexec.Size {
	w, err := unix.IoctlGetWinsize(0, unix.TIOCGWINSZ)
	if err != nil {
		return &hostexec.Size{Rows: 24, Columns: 80}
	}
	return &hostexec.Size{Rows: w.Row, Columns: w.Col}
}

// listen follows the command until it has ended.
func (r *run) listen() int {
	in := bufio.NewReaderSize(r.from, 4<<10)
	for {
		var reply hostexec.Reply
		line, err := in.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &reply)
		}
		if err != nil {
			r.restore()
			return failed(r.name, errors.New("the workspace has ended"), exitOurs)
		}
		switch reply.Type {
		case hostexec.TypeStarted:
			switch files := r.from.Take(); {
			case r.stdio == hostexec.StdioFrames:
				go r.feed()
			case len(files) == 1:
				r.attach(files[0])
			}
		case hostexec.TypeOutput:
			r.show(&reply)
		case hostexec.TypeExit:
			r.out.Wait()
			r.restore()
			if err := errors.Join(r.lost[:]...); err != nil && reply.Code == 0 {
				return failed(r.name, fmt.Errorf("its output could not be written: %w", err), exitOurs)
			}
			return ended(&reply, r.terminal)
		case hostexec.TypeError:
			r.restore()
			return refused(r.name, reply.Error)
		}
	}
}

func refused(name string, p *hostexec.Problem) int {
	if p == nil {
		return exitOurs
	}
	status := p.Exit
	if status == 0 {
		status = exitNotRunable
	}
	failed(name, p, status)
	if p.Hint != "" {
		fmt.Fprintf(os.Stderr, "hint: %s\n", p.Hint)
	}
	return status
}

// ended ends as the command has. A key at its terminal would have reached our whole
// process group, if it had been ours.
func ended(reply *hostexec.Reply, terminal bool) int {
	sig := unix.SignalNum("SIG" + reply.Signal)
	switch sig {
	case unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGKILL:
	default: // the others are Go's own to handle: it would print its stacks
		return reply.Code
	}
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) // the command's own is the one that counts
	signal.Reset(sig)
	whom := os.Getpid()
	if terminal && sig == unix.SIGINT {
		whom = 0
	}
	_ = unix.Kill(whom, sig)
	time.Sleep(100 * time.Millisecond)
	return reply.Code
}

// attach carries between our terminal and the command's.
func (r *run) attach(near *os.File) {
	r.send.Lock()
	r.tty = near
	r.send.Unlock()
	r.front()
	go func() {
		r.awaitFront()
		_, _ = io.Copy(near, os.Stdin)
	}()
	r.out.Go(func() { _, _ = io.Copy(os.Stdout, near) })
}

// awaitFront waits until our terminal's keys are ours: else reading would stop us.
func (r *run) awaitFront() {
	for !inFront() {
		time.Sleep(frontPeriod)
	}
	r.front()
}

// frontPeriod is how often a shim in the background looks whether it still is.
const frontPeriod = 200 * time.Millisecond

// inFront says whether our terminal's keys are ours.
func inFront() bool {
	group, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// front has keys come as they are typed, once they are ours.
func (r *run) front() {
	r.send.Lock()
	defer r.send.Unlock()
	if r.tty == nil && r.stdio == hostexec.StdioPassed || !r.terminal || r.reset != nil || !inFront() {
		return
	}
	if state, err := term.MakeRaw(0); err == nil {
		r.reset = func() { _ = term.Restore(0, state) }
	}
}

func (r *run) resize() {
	switch s := size(); {
	case r.tty != nil:
		_ = unix.IoctlSetWinsize(int(r.tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: s.Rows, Col: s.Columns})
	case r.terminal && r.stdio == hostexec.StdioFrames:
		_ = r.say(&hostexec.Request{Type: hostexec.TypeResize, ID: id, Size: s})
	}
}

func (r *run) restore() {
	r.send.Lock()
	defer r.send.Unlock()
	if r.reset != nil {
		r.reset()
		r.reset = nil
	}
}

// signals hands on what is sent to us.
func (r *run) signals(caught <-chan os.Signal) {
	for s := range caught {
		sig := s.(syscall.Signal)
		if sig == syscall.SIGWINCH {
			r.send.Lock()
			r.resize()
			r.send.Unlock()
			continue
		}
		if sig == syscall.SIGCONT {
			r.front()
		}
		_ = r.say(&hostexec.Request{Type: hostexec.TypeSignal, ID: id, Signal: strings.TrimPrefix(unix.SignalName(sig), "SIG")})
		if sig == syscall.SIGTSTP {
			r.restore()
			_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
		}
	}
}
