package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"carrel/internal/api"
)

// maxNotes bounds how much is told of what a log says of itself.
const maxNotes = 100

// Part is one file of a log.
type Part struct {
	Name string
	io.Reader
}

// Verify reads the parts of a log, oldest first, up to the first line that does not
// hold. Where head is not "", a record with that hash has to be among them: it was the
// last one when somebody noted it, and whoever has cut the end off has taken it away.
// The error is the disk's; what is wrong with the log is in the result.
func Verify(head string, parts ...Part) (api.AuditResult, error) {
	c := chain{head: noHash}
	seen := false
	for _, p := range parts {
		err := lines(p, func(n int, line []byte, long bool) error {
			c.file, c.line = p.Name, n
			err := c.add(line, long)
			seen = seen || c.head == head
			return err
		})
		if errors.Is(err, errBroken) {
			break
		}
		if err != nil {
			return c.result, fmt.Errorf("reading %q: %w", p.Name, err)
		}
		c.end()
	}
	r := &c.result
	if r.Broken == nil && r.Records == 0 && len(c.rest) == 0 {
		_ = c.breaks("there is no record, not even the first")
	}
	if head != "" && !seen && r.Broken == nil {
		_ = c.breaks(fmt.Sprintf("no record has the hash %.80q: the end was cut off after it was noted, the record went by rotation, or it is another log", head))
	}
	r.OK = r.Broken == nil
	return *r, nil
}

var errBroken = errors.New("the chain is broken")

// chain is what is known of a log up to a line.
type chain struct {
	result api.AuditResult
	head   string
	last   uint64
	rest   []byte // what is no record, and may be the beginning of one
	why    error  // it is none
	at     api.AuditBroken
	file   string
	line   int
}

// add takes one line.
func (c *chain) add(line []byte, long bool) error {
	r, hash, err := decode(line)
	switch {
	case long:
		return c.breaks(fmt.Sprintf("a line of more than %d bytes", MaxLine))
	case err != nil:
		if len(c.rest) == 0 {
			c.why, c.at = err, api.AuditBroken{Record: c.last + 1, File: c.file, Line: c.line}
		}
		c.rest = append(c.rest, line...)
		if !unfinished(trimmed(line), c.last+1) && !c.lacksNewline(line) || c.result.Records == 0 || len(c.rest) > 2*MaxLine {
			return c.restBreaks()
		}
		return nil
	case len(c.rest) > 0 && !tells(r.Torn, trimmed(c.rest)):
		return c.restBreaks()
	case r.Torn != nil && len(c.rest) == 0:
		return c.breaks("it tells of a torn line before it, and there is none")
	}
	c.rest = nil
	if err := c.follows(&r); err != nil {
		return err
	}
	c.note(&r)
	c.last, c.head = r.Seq, hash
	x := &c.result
	if x.Records == 0 {
		x.First, x.From = r.Seq, r.Time
	}
	x.Records++
	x.Last, x.To, x.Head = r.Seq, r.Time, hash
	return nil
}

// lacksNewline says whether a line is the next record in all but its newline.
func (c *chain) lacksNewline(line []byte) bool {
	r, _, err := decode(append(line[:len(line):len(line)], '\n'))
	return err == nil && r.Seq == c.last+1 && r.Prev == c.head
}

// follows checks that a record is the next.
func (c *chain) follows(r *api.AuditRecord) error {
	switch first := c.result.Records == 0; {
	case first && r.Kind == api.AuditBegin && r.Seq == 1 && r.Prev == noHash:
	case first && r.Kind == api.AuditRotated && r.Seq > 1:
	case first:
		return c.breaks(fmt.Sprintf("the log begins with record %d, of kind %.20q: what came before is missing", r.Seq, r.Kind))
	case r.Seq != c.last+1:
		return c.breaks(fmt.Sprintf("record %d comes after record %d", r.Seq, c.last))
	case r.Prev != c.head:
		return c.breaks(fmt.Sprintf("it goes on from a record with the hash %.16s..., and the one before it has %.16s...", r.Prev, c.head))
	}
	return nil
}

// note keeps what a record says of the log.
func (c *chain) note(r *api.AuditRecord) {
	switch r.Kind {
	case api.AuditRotated:
		if c.result.Records > 0 {
			return
		}
		c.tell(fmt.Sprintf("begins at record %d: older ones went by rotation", r.Seq))
	case api.AuditKilled, api.AuditTornOff, api.AuditLost:
		c.tell(fmt.Sprintf("record %d: %s", r.Seq, r.Detail))
	}
}

func (c *chain) tell(text string) {
	if len(c.result.Notes) < maxNotes {
		c.result.Notes = append(c.result.Notes, text)
	}
}

// end is called after a part. What has no newline there may be a record that was
// being written when its writer was killed, or at this moment.
func (c *chain) end() {
	if len(c.rest) == 0 {
		return
	}
	if c.rest[len(c.rest)-1] == '\n' {
		_ = c.restBreaks()
		return
	}
	c.tell(fmt.Sprintf("after record %d: %d bytes of a record that was not written to its end", c.last, len(c.rest)))
}

func (c *chain) restBreaks() error {
	c.result.Broken = &c.at
	c.result.Broken.Why = c.why.Error()
	return errBroken
}

func (c *chain) breaks(why string) error {
	c.result.Broken = &api.AuditBroken{Record: c.last + 1, File: c.file, Line: c.line, Why: why}
	return errBroken
}

// tells says whether a record is about that torn line.
func tells(t *api.AuditTorn, rest []byte) bool {
	return t != nil && t.Bytes == len(rest) && t.Hash == sum(rest)
}

func trimmed(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		return line[:n-1]
	}
	return line
}

// lines calls each with every line, its newline included where it has one. Of one
// that is too long only the beginning is given.
func lines(r io.Reader, each func(n int, line []byte, long bool) error) error {
	in := bufio.NewReaderSize(r, MaxLine)
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		long := err == bufio.ErrBufferFull
		if len(line) > 0 {
			if err := each(n, line, long); err != nil {
				return err
			}
		}
		for err == bufio.ErrBufferFull {
			_, err = in.ReadSlice('\n')
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
