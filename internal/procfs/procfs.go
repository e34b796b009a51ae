// Package procfs reads what the kernel says of processes in /proc (proc(5)). A process
// names itself with any bytes it likes, so its line is taken apart from behind. Numbers are
// given again: a process is meant by its number together with its start, and after a start
// of the machine together with that.
package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Stat is what is used of /proc/PID/stat.
type Stat struct {
	Name     string // a process can change its own
	State    byte
	Parent   int
	Group    int
	Session  int
	Terminal int    // device number of the controlling one; 0 for none
	Front    int    // the terminal's foreground process group; -1 for none
	Threads  int    // that have not ended
	Start    uint64 // in ticks since the machine was started
}

// Gone reports that a process runs no more, whether it was collected or not. Of one with
// several threads it says that the first has ended.
func (s *Stat) Gone() bool { return s.State == 'Z' || s.State == 'X' || s.State == 'x' }

// maxLine is longer than any line of the kernel's: a name, and 52 numbers of up to 20 digits.
const maxLine = 1280

// ReadStat reads the line of a process or thread. The error is an *os.PathError where there
// is none.
func ReadStat(pid int) (Stat, error) {
	name := "/proc/" + strconv.Itoa(pid) + "/stat"
	var buf [maxLine]byte
	line, err := read(name, buf[:])
	if err != nil {
		return Stat{}, err
	}
	s, err := ParseStat(line)
	if err != nil {
		return Stat{}, fmt.Errorf("reading %s: %w", name, err)
	}
	return s, nil
}

// read reads a file that comes in one piece. An os.File would have the runtime ask whether it
// can be waited for, which takes longer.
func read(name string, buf []byte) ([]byte, error) {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	n, err := syscall.Read(fd, buf)
	syscall.Close(fd)
	if err != nil {
		return nil, &os.PathError{Op: "read", Path: name, Err: err}
	}
	return buf[:n], nil
}

// Places of the fields behind the name.
const (
	fieldParent   = 1
	fieldGroup    = 2
	fieldSession  = 3
	fieldTerminal = 4
	fieldFront    = 5
	fieldThreads  = 17
	fieldStart    = 19
	fieldsUsed    = 20
)

// ParseStat takes such a line apart.
func ParseStat(line []byte) (Stat, error) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return Stat{}, errors.New("no process name in parentheses")
	}
	s := Stat{Name: string(line[open+1 : end])}
	rest := line[end+1:]
	for i := range fieldsUsed {
		rest = bytes.TrimLeft(rest, " ")
		n := bytes.IndexAny(rest, " \n")
		if n < 0 {
			n = len(rest)
		}
		if n == 0 || i == 0 && n != 1 {
			return Stat{}, errors.New("too few fields")
		}
		var err error
		if i == 0 {
			s.State = rest[0]
		} else {
			err = s.set(i, string(rest[:n]))
		}
		if err != nil {
			return Stat{}, err
		}
		rest = rest[n:]
	}
	return s, nil
}

func (s *Stat) set(field int, word string) (err error) {
	var to *int
	switch field {
	case fieldParent:
		to = &s.Parent
	case fieldGroup:
		to = &s.Group
	case fieldSession:
		to = &s.Session
	case fieldTerminal:
		to = &s.Terminal
	case fieldFront:
		to = &s.Front
	case fieldThreads:
		to = &s.Threads
	case fieldStart:
		s.Start, err = strconv.ParseUint(word, 10, 64)
		return err
	default:
		return nil
	}
	*to, err = strconv.Atoi(word)
	return err
}

// BootID names the time since this machine was started; "" where the kernel does not say.
var BootID = sync.OnceValue(func() string {
	var buf [64]byte
	id, err := read("/proc/sys/kernel/random/boot_id", buf[:])
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
})
