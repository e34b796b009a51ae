package workspace

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"carrel/internal/api"

	"golang.org/x/sys/unix"
)

// DeskArg0 is the name under which this program supervises a workspace that stays. It
// is started with the arguments of whoever wanted one.
const DeskArg0 = "carrel-workspace"

// IsDesk says whether a program was started as such a supervisor.
func IsDesk(argv0 string) bool { return filepath.Base(argv0) == DeskArg0 }

// reportFD is where a supervisor tells its starter how the start went.
const reportFD = 3

// report is one line of that.
type report struct {
	Ready *Ready      `json:"ready,omitempty"`
	Error string      `json:"error,omitempty"`
	Why   *api.Denial `json:"why,omitempty"`
	Taken bool        `json:"taken,omitempty"`
}

// StartDesk starts this program once more, in a session of its own, as the supervisor
// of a workspace that stays, with args as its arguments, and returns when that stands.
// ErrTaken means that another one holds the name.
func StartDesk(args []string) (Ready, error) {
	var ready Ready
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
	pid, err := syscall.ForkExec(selfExe, append([]string{DeskArg0}, args...), &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{null.Fd(), null.Fd(), w.Fd(), w.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	w.Close()
	if err != nil {
		return ready, fmt.Errorf("starting the supervisor: %w", err)
	}
	in := bufio.NewReader(r)
	line, err := in.ReadBytes('\n')
	var said report
	if err != nil || json.Unmarshal(line, &said) != nil { // it has crashed
		rest, _ := io.ReadAll(io.LimitReader(in, maxLastWords))
		if line = append(line, rest...); len(line) == 0 {
			line = []byte("it ended without a word")
		}
		return ready, fmt.Errorf("starting the supervisor (process %d): %s", pid, line)
	}
	switch {
	case said.Ready != nil:
		return *said.Ready, nil
	case said.Taken:
		return ready, ErrTaken
	case said.Why != nil:
		return ready, said.Why
	}
	return ready, errors.New(said.Error)
}

// maxLastWords bounds what is told of a supervisor that crashed at its start, in bytes.
const maxLastWords = 4 << 10

// Report gives what a supervisor tells its starter with, or nil where there is none.
func Report() func(Ready, error) {
	unix.CloseOnExec(reportFD)
	var st unix.Stat_t
	if unix.Fstat(reportFD, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
		return nil
	}
	to := os.NewFile(reportFD, "report")
	return func(ready Ready, err error) {
		said := report{Ready: &ready}
		if err != nil {
			said = report{Error: err.Error(), Taken: errors.Is(err, ErrTaken)}
			if why := (*api.Denial)(nil); errors.As(err, &why) {
				said.Why = why
			}
		}
		line, _ := json.Marshal(said)
		_, _ = to.Write(append(line, '\n'))
		to.Close()
	}
}

// ownLog has what this process says go to the workspace's own log from now on.
func (d *deskPlace) ownLog() error {
	fd, err := unix.Openat(int(d.dir.Fd()), logFile, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_APPEND|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("opening the supervisor's log: %w", err)
	}
	defer unix.Close(fd)
	return errors.Join(unix.Dup3(fd, 1, 0), unix.Dup3(fd, 2, 0))
}
