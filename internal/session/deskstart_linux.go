package session

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"carrel/internal/api"
	"carrel/internal/ceilings"
	"carrel/internal/hostfacts"
	"carrel/internal/named"

	"golang.org/x/sys/unix"
)

// DeskArg0 is the name under which this program supervises a workspace that stays. It
// is started with the arguments of whoever wanted one.
const DeskArg0 = "carrel-workspace"

// IsDesk says whether a program was started as such a supervisor.
func IsDesk(argv0 string) bool { return filepath.Base(argv0) == DeskArg0 }

// reportFD is where a supervisor tells its starter how the start went, ceilingFD where
// it finds the ceilings that it is held to.
const (
	reportFD  = 3
	ceilingFD = 4
)

// report is one line of that.
type report struct {
	Ready *Ready      `json:"ready,omitempty"`
	Error string      `json:"error,omitempty"`
	Why   *api.Denial `json:"why,omitempty"`
	Taken bool        `json:"taken,omitempty"`

	Progress string `json:"progress,omitempty"` // more comes
}

// DetachArg0 is the name under which this program starts a supervisor and ends: who has
// wanted the workspace is not its parent, and the end of that one's children leaves it.
const DetachArg0 = "carrel-detached-start"

// StartDesk starts this program once more, in a session of its own, as the supervisor
// of a workspace that stays, and returns when that stands. It is held to the ceilings by
// their content: it reads no ceiling's file, and what its arguments and the environment
// say of one does not count. When ctx ends before that, so does the supervisor.
// ErrTaken means that another one holds the name.
func StartDesk(ctx context.Context, d DeskStart) (Ready, error) {
	var ready Ready
	frozen, err := ceilings.Seal(d.Ceilings)
	if err != nil {
		return ready, err
	}
	defer frozen.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return ready, fmt.Errorf("making a pipe: %w", err)
	}
	defer r.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		w.Close()
		return ready, err
	}
	defer null.Close()
	// What else was inherited here is not the workspace's: it stays for days, and
	// somebody waits for the end of a pipe, or for a lock.
	_ = unix.CloseRange(reportFD, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	arg0 := DeskArg0
	if d.Detach {
		arg0 = DetachArg0
	}
	pid, err := syscall.ForkExec(hostfacts.SelfExe, append([]string{arg0}, d.Args...), &syscall.ProcAttr{
		Dir: d.Dir, Env: ceilings.HandOn(d.Environ, ceilingFD), Files: []uintptr{null.Fd(), null.Fd(), w.Fd(), w.Fd(), frozen.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	w.Close()
	if err != nil {
		return ready, fmt.Errorf("starting the supervisor: %w", err)
	}
	for err = syscall.EINTR; d.Detach && err == syscall.EINTR; { // it has one thing to do
		_, err = syscall.Wait4(pid, nil, 0, nil)
	}
	defer context.AfterFunc(ctx, func() { r.Close() })() // which the supervisor sees
	in := bufio.NewReader(r)
	line, said := []byte(nil), report{Progress: "starting"}
	for said.Progress != "" {
		said = report{}
		if line, err = in.ReadBytes('\n'); err != nil || json.Unmarshal(line, &said) != nil {
			break
		}
		if said.Progress != "" {
			d.Progress(said.Progress)
		}
	}
	if ctx.Err() != nil {
		return ready, ctx.Err()
	}
	if said.Ready == nil && said.Error == "" { // it has crashed
		rest, _ := io.ReadAll(io.LimitReader(in, maxLastWords))
		if line = append(line, rest...); len(line) == 0 {
			line = []byte("it ended without a word")
		}
		return ready, fmt.Errorf("starting the supervisor: %s", line)
	}
	switch {
	case said.Ready != nil:
		return *said.Ready, nil
	case said.Taken:
		return ready, named.ErrTaken
	case said.Why != nil:
		return ready, said.Why
	}
	return ready, errors.New(said.Error)
}

// Detach is the program under DetachArg0: it starts the supervisor with its own arguments,
// streams and variables, and gives the exit status that it ends with.
func Detach(args []string) int {
	_, err := syscall.ForkExec(hostfacts.SelfExe, append([]string{DeskArg0}, args...), &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2, reportFD, ceilingFD}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err == nil {
		return 0
	}
	NewReporter().Failed(fmt.Errorf("starting the supervisor: %w", err))
	return api.ExitOurs
}

// maxLastWords bounds what is told of a supervisor that crashed at its start, in bytes.
const maxLastWords = 4 << 10

// Reporter is what a supervisor tells its starter with. It may be called on nil.
type Reporter struct {
	to   *os.File
	said sync.Mutex
	last bool
}

// NewReporter gives the one of this process, nil where it was not started as a
// supervisor.
func NewReporter() *Reporter {
	unix.CloseOnExec(reportFD)
	var st unix.Stat_t
	if unix.Fstat(reportFD, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
		return nil
	}
	return &Reporter{to: os.NewFile(reportFD, "report")}
}

// Progress tells what is being done.
func (r *Reporter) Progress(text string) { _ = r.say(report{Progress: text}, false) }

// Ready tells that the workspace stands; it is the last word.
func (r *Reporter) Ready(ready Ready) error { return r.say(report{Ready: &ready}, true) }

// Failed tells why it does not; it is the last word, where that was not said.
func (r *Reporter) Failed(err error) {
	said := report{Error: err.Error(), Taken: errors.Is(err, named.ErrTaken), Why: ceilings.Denial("start", err)}
	_ = r.say(said, true)
}

func (r *Reporter) say(what report, last bool) error {
	if r == nil {
		return nil
	}
	r.said.Lock()
	defer r.said.Unlock()
	if r.last {
		return nil
	}
	line, err := json.Marshal(what)
	if err == nil {
		_, err = r.to.Write(append(line, '\n'))
	}
	if r.last = last; last {
		r.to.Close()
	}
	return err
}

// Gone has a function called when the starter goes before the last word, until what it
// returns is called.
func (r *Reporter) Gone(do func()) func() {
	done := make(chan struct{})
	if r == nil {
		return func() {}
	}
	go func() {
		tick := time.NewTicker(goneEye)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			gone, over := r.closed()
			if gone {
				do()
			}
			if gone || over {
				return
			}
		}
	}()
	return func() { close(done) }
}

// goneEye is how often is looked whether somebody waits.
const goneEye = 100 * time.Millisecond

// closed says whether the reader is gone before the last word, and whether that is said.
func (r *Reporter) closed() (gone, over bool) {
	r.said.Lock()
	defer r.said.Unlock()
	if r.last {
		return false, true
	}
	fds := []unix.PollFd{{Fd: reportFD}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&unix.POLLERR != 0, false
}
