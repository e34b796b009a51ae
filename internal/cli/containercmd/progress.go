package containercmd

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"

	"carrel/internal/show"
)

// maxLine bounds a line of progress, in bytes.
const maxLine = 4096

// lines prints what an engine says while it works, a line each. What the steps of a Dockerfile
// print is in it, so nothing of it reaches a terminal as a control sequence. An engine writes to
// standard output and to standard error at once.
type lines struct {
	to   io.Writer
	lock sync.Mutex
	part []byte
}

func (l *lines) Write(data []byte) (int, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.part = append(l.part, data...)
	for {
		i := bytes.IndexAny(l.part, "\r\n")
		if i < 0 && len(l.part) > maxLine {
			i = maxLine
		}
		if i < 0 {
			return len(data), nil
		}
		l.print(l.part[:i])
		l.part = bytes.TrimLeft(l.part[i:], "\r\n")
	}
}

func (l *lines) print(line []byte) {
	if text := strings.TrimSpace(string(line)); text != "" {
		fmt.Fprintf(l.to, "  %s\n", show.OneLine(show.Escape(text)))
	}
}

// flush prints what had no end.
func (l *lines) flush() {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.print(l.part)
	l.part = nil
}
