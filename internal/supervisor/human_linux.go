package supervisor

import (
	"fmt"
	"os"
	"strings"

	"carrel/internal/ancestry"
	"carrel/internal/api"
	"carrel/internal/procfs"

	"golang.org/x/sys/unix"
)

// maxAncestors bounds the walk from a caller to the first process.
const maxAncestors = 256

// notHuman says why a caller does not look like a person at a terminal, nil
// when it does. It needs the terminal as standard input and in its
// foreground, and nobody between the caller and the terminal's session who is
// an agent or behind walls; above that session too, as far as can be seen. An agent
// is marked when it is seen: what it starts afterwards is refused wherever it goes.
//
// It is best effort: a program that no agent has started can make a terminal of its
// own, and one of the same user can type into this one.
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
	why, seen := byAgent(pid, s.Session, agent)
	if why == nil && s.Session != 0 && !seen {
		why = refuseHuman("the caller is detached from the shell of its terminal")
	}
	return why
}

// ByAgent refuses a process that a known agent, or something behind walls, has started;
// nil where none has. An agent that is seen is marked, see package ancestry.
func ByAgent(pid int, agent func(Process) string) *api.Denial {
	why, _ := byAgent(pid, 0, agent)
	return why
}

// byAgent says whether the first process of the session was among the ancestors, too.
func byAgent(pid, session int, agent func(Process) string) (why *api.Denial, seen bool) {
	caller := pid
	for range maxAncestors {
		s, err := procfs.ReadStat(pid)
		if err != nil {
			break // processes of others may be hidden
		}
		seen = seen || pid == session
		if name := agent(describe(pid, s.Name)); name != "" {
			ancestry.Mark(pid)
			return refuseHuman(fmt.Sprintf("the caller was started by the agent %s (process %d)", name, pid)), seen
		}
		if markedInside(pid) {
			return refuseHuman(fmt.Sprintf("the caller was started behind walls (process %d has %s)", pid, insideEnv)), seen
		}
		if s.Parent <= 0 {
			break
		}
		pid = s.Parent
	}
	return unmarked(caller), seen
}

// unmarked refuses what an agent or a workspace has started, though no parent says so.
func unmarked(pid int) *api.Denial {
	switch k, agent := ancestry.Of(pid); k {
	case ancestry.Workspace:
		return refuseHuman("the caller was started behind walls (its limit RLIMIT_RTTIME says so)")
	case ancestry.Agent:
		return refuseHuman(fmt.Sprintf("the caller was started by an agent (process %d; its limit RLIMIT_RTTIME says so)", agent))
	case ancestry.Lowered:
		return refuseHuman("the caller's limit RLIMIT_RTTIME was lowered: whether an agent has started it cannot be told")
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

// Confirm shows text, which is safe for a terminal, at the controlling terminal, throws
// away what was typed before, and says whether word was typed then. The error says that
// there is no terminal, or that it is not the standard input.
func Confirm(text, word string) (bool, error) {
	s, err := procfs.ReadStat(os.Getpid())
	if err != nil {
		return false, err
	}
	if s.Terminal == 0 || !stdinIs(os.Getpid(), s.Terminal) {
		return false, refuseHuman("standard input is not the controlling terminal")
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return false, refuseHuman("the controlling terminal cannot be opened: " + err.Error())
	}
	defer tty.Close()
	typed, err := ask(tty, text)
	return err == nil && strings.TrimSpace(typed) == word, err
}

// ask reads one line that is typed after the question.
func ask(tty *os.File, text string) (string, error) {
	if err := unix.IoctlSetInt(int(tty.Fd()), unix.TCFLSH, unix.TCIFLUSH); err != nil {
		return "", fmt.Errorf("discarding what was typed before: %w", err)
	}
	if _, err := tty.WriteString(text); err != nil {
		return "", fmt.Errorf("asking at the terminal: %w", err)
	}
	line := make([]byte, 4096) // the most that a terminal takes for one line
	n, err := tty.Read(line)
	if err != nil {
		return "", fmt.Errorf("reading the answer at the terminal: %w", err)
	}
	return string(line[:n]), nil
}
