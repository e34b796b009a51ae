package supervisor

import (
	"fmt"
	"os"

	"carrel/internal/api"
	"carrel/internal/procfs"

	"golang.org/x/sys/unix"
)

// maxAncestors bounds the walk from a caller to the first process.
const maxAncestors = 256

// notHuman says why a caller does not look like a person at a terminal, nil
// when it does. It needs the terminal as standard input and in its
// foreground, and nobody between the caller and the terminal's session who is
// an agent or behind walls; above that session too, as far as can be seen.
//
// It is best effort: a program of the same user can make a terminal of its own
// far away from itself, or type into this one.
func notHuman(p *peer, agent func(Process) string) *api.Denial {
	d := human(p.pid, agent)
	if d == nil && ended(p.pidfd) {
		d = refuseHuman("the caller has ended")
	}
	return d
}

func human(pid int, agent func(Process) string) *api.Denial {
	s, err := procfs.ReadStat(pid)
	switch {
	case err != nil:
		return refuseHuman("the caller cannot be looked at: " + err.Error())
	case s.Terminal == 0:
		return refuseHuman("the caller has no controlling terminal")
	case s.Group != s.Front:
		return refuseHuman("the caller is not in the foreground of its terminal")
	case !stdinIs(pid, s.Terminal):
		return refuseHuman("the caller's standard input is not its terminal")
	}
	session, seen := s.Session, false
	for range maxAncestors {
		seen = seen || pid == session
		if name := agent(describe(pid, s.Name)); name != "" {
			return refuseHuman(fmt.Sprintf("the caller was started by the agent %s (process %d)", name, pid))
		}
		if markedInside(pid) {
			return refuseHuman(fmt.Sprintf("the caller was started behind walls (process %d has %s)", pid, insideEnv))
		}
		if s.Parent <= 0 {
			break
		}
		pid = s.Parent
		if s, err = procfs.ReadStat(pid); err != nil {
			break // processes of others may be hidden
		}
	}
	if session != 0 && !seen {
		return refuseHuman("the caller is detached from the shell of its terminal")
	}
	return nil
}

func refuseHuman(why string) *api.Denial {
	return &api.Denial{Code: api.CodeNotHuman, Operation: api.OpApprove, Subject: why, Message: "only a person at a terminal may approve: " + why,
		Rule: "approvals need the human channel", Source: "built in", Hint: "type `carrel approve ID` yourself, in a terminal of your own outside the workspace"}
}

// stdinIs says whether descriptor 0 of a process is the terminal with that
// number.
func stdinIs(pid, tty int) bool {
	var st unix.Stat_t
	if err := unix.Stat(procPath(pid, "fd/0"), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return false
	}
	return unix.Major(st.Rdev) == terminalMajor(tty) && unix.Minor(st.Rdev) == terminalMinor(tty)
}

// The kernel's own packing of device numbers, as /proc/PID/stat shows it.
func terminalMajor(tty int) uint32 { return uint32(tty) >> 8 & 0xfff }
func terminalMinor(tty int) uint32 { return uint32(tty)&0xff | uint32(tty)>>12&0xfff00 }

// Terminal is the controlling terminal of this process, for a question whose
// answer must be typed by whoever sits there.
type Terminal struct{ tty *os.File }

// OpenTerminal opens it where it is also the standard input.
func OpenTerminal() (*Terminal, error) {
	s, err := procfs.ReadStat(os.Getpid())
	if err != nil {
		return nil, err
	}
	if s.Terminal == 0 || !stdinIs(os.Getpid(), s.Terminal) {
		return nil, refuseHuman("standard input is not the controlling terminal")
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, refuseHuman("the controlling terminal cannot be opened: " + err.Error())
	}
	return &Terminal{tty: tty}, nil
}

// Ask shows text that is safe for a terminal, throws away what was typed
// before it, and reads one line.
func (t *Terminal) Ask(text string) (string, error) {
	if err := unix.IoctlSetInt(int(t.tty.Fd()), unix.TCFLSH, unix.TCIFLUSH); err != nil {
		return "", fmt.Errorf("discarding what was typed before: %w", err)
	}
	if _, err := t.tty.WriteString(text); err != nil {
		return "", fmt.Errorf("asking at the terminal: %w", err)
	}
	line := make([]byte, 256)
	n, err := t.tty.Read(line)
	if err != nil {
		return "", fmt.Errorf("reading the answer at the terminal: %w", err)
	}
	return string(line[:n]), nil
}

// Close lets go of the terminal.
func (t *Terminal) Close() { t.tty.Close() }
