package supervisor

import (
	"errors"
	"strconv"
	"strings"
)

// Process is one process as /proc shows it, for whoever knows what agents look
// like. Each text is "" where it cannot be read.
type Process struct {
	PID  int
	Name string // of /proc/PID/stat; a process can change its own
	Exe  string
	Argv []string
}

// stat is what is used of /proc/PID/stat.
type stat struct {
	name    string
	state   byte
	ppid    int
	group   int
	session int
	tty     int // device number of the controlling terminal; 0 for none
	front   int // the terminal's foreground process group
	start   uint64
}

// parseStat reads a line of /proc/PID/stat. The name stands in parentheses and
// may itself hold any bytes, parentheses and spaces too.
func parseStat(line string) (stat, error) {
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return stat{}, errors.New("no process name in parentheses")
	}
	s := stat{name: line[open+1 : end]}
	fields := strings.Fields(line[end+1:])
	if len(fields) < 20 || len(fields[0]) != 1 {
		return stat{}, errors.New("too few fields")
	}
	s.state = fields[0][0]
	var err error
	number := func(i int) int {
		n, e := strconv.Atoi(fields[i])
		err = errors.Join(err, e)
		return n
	}
	s.ppid, s.group, s.session, s.tty, s.front = number(1), number(2), number(3), number(4), number(5)
	start, e := strconv.ParseUint(fields[19], 10, 64)
	s.start = start
	return s, errors.Join(err, e)
}

// gone says that a process runs no more, whether collected or not.
func (s stat) gone() bool { return s.state == 'Z' || s.state == 'X' || s.state == 'x' }
