package stepview

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/projecthistory"
	"carrel/internal/show"

	"github.com/aymanbagabas/go-udiff"
)

// Diff prints how one step changed paths.
type Diff struct {
	Out          io.Writer
	History      *projecthistory.History
	Step         *steplog.Step
	Stat, Colour bool

	table      show.Table // of stat
	paths      int
	more, less int // lines
}

// Colours of a diff, as git has them.
const (
	red, green, cyan, bold, plain = "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[1m", "\x1b[0m"
)

// maxDiffed is up to which size a file is compared by lines, in bytes.
const maxDiffed = 4 << 20

// Change prints one change: a file as lines, anything else by what it is.
func (d *Diff) Change(c steplog.PathChange) {
	d.paths++
	was, now := d.states(c)
	name := Path(d.History.Project, c.Path)
	if c.From != "" {
		d.note("", name, fmt.Sprintf("%s renamed from %s", c.Kind, Path(d.History.Project, c.From)))
	}
	switch {
	case c.What == steplog.Removed && c.Kind != journal.File:
		d.note(red, name, "-"+object(was))
	case c.What == steplog.Added && c.Kind != journal.File:
		d.note(green, name, "+"+object(now))
	case c.Kind == journal.Symlink && was.Target != now.Target:
		d.note(red, name, "-"+object(was))
		d.note(green, name, "+"+object(now))
	}
	if c.What != steplog.Removed && c.What != steplog.Added {
		d.meta(name, was, now)
	}
	switch {
	case c.What == steplog.Changed && c.Kind != journal.Dir:
		d.time(name, was, now)
	case c.What != steplog.Changed && c.Kind == journal.File:
		d.content(c, name, was, now)
	}
}

// states are those before and after a change.
func (d *Diff) states(c steplog.PathChange) (was, now *journal.State) {
	origin := c.Path
	post, ok := d.Step.PostOf(c.Path)
	switch {
	case c.What == steplog.Removed:
		post.State = journal.State{}
	case c.From != "":
		origin = c.From
	case ok && len(post.Origin) > 0:
		origin = string(post.Origin)
	}
	pre, _ := d.Step.PreOf(origin)
	return &pre.State, &post.State
}

// object says what something is that is no file.
func object(s *journal.State) string {
	if s.Kind == journal.Symlink {
		return "symlink -> " + show.QuoteIf(string(s.Target))
	}
	return s.Kind.String()
}

// meta tells of everything but the content.
func (d *Diff) meta(name string, was, now *journal.State) {
	if was.Kind != now.Kind {
		return
	}
	if was.Mode != now.Mode {
		d.note("", name, fmt.Sprintf("mode %#o, was %#o", now.Mode, was.Mode))
	}
	if was.UID != now.UID || was.GID != now.GID {
		d.note("", name, fmt.Sprintf("owner %d:%d, was %d:%d", now.UID, now.GID, was.UID, was.GID))
	}
	for _, k := range slices.Sorted(maps.Keys(merged(was.Xattrs, now.Xattrs))) {
		if !was.Knows(k) || !now.Knows(k) {
			continue // the mode kept it from being read
		}
		if old, had := was.Xattrs[k]; !had || !bytes.Equal(old, now.Xattrs[k]) {
			d.note("", name, "attribute "+show.QuoteIf(k)+" "+attribute(now.Xattrs, k)+", was "+attribute(was.Xattrs, k))
		} else if _, has := now.Xattrs[k]; !has {
			d.note("", name, "attribute "+show.QuoteIf(k)+" none, was "+attribute(was.Xattrs, k))
		}
	}
}

func (d *Diff) time(name string, was, now *journal.State) {
	if was.Mtime != now.Mtime {
		d.note("", name, fmt.Sprintf("time %s, was %s", timeText(now.Mtime), timeText(was.Mtime)))
	}
}

func merged(a, b map[string][]byte) map[string][]byte {
	all := maps.Clone(a)
	if all == nil {
		all = make(map[string][]byte)
	}
	maps.Copy(all, b)
	return all
}

// attribute is the value of one as a person reads it.
func attribute(all map[string][]byte, name string) string {
	v, ok := all[name]
	if !ok {
		return "none"
	}
	return strconv.Quote(show.Shorten(string(v), show.ColumnMax))
}

func timeText(ns int64) string { return time.Unix(0, ns).Format("2006-01-02 15:04:05.000000000") }

// note prints what is no line of a file.
func (d *Diff) note(colour, name, what string) {
	if d.Stat {
		d.table.Row(name, what)
		return
	}
	sign := ""
	if colour != "" {
		sign, what = what[:1], what[1:]
	}
	d.line(colour, sign+show.OneLine(name)+": "+show.OneLine(what))
}

// content prints how the lines of a file changed.
func (d *Diff) content(c steplog.PathChange, name string, was, now *journal.State) {
	size := fmt.Sprintf("%d bytes, were %d", now.Size, was.Size)
	switch {
	case now.Size == journal.UnknownSize:
		size = "of unknown size"
	case c.What == steplog.Added:
		size = fmt.Sprintf("%d bytes", now.Size)
	case c.What == steplog.Removed:
		size = fmt.Sprintf("were %d bytes", was.Size)
	}
	if c.Lost != "" {
		d.note("", name, fmt.Sprintf("file %s, %s: its former content was not kept: %s", c.What, size, c.Lost))
		return
	}
	if max(was.Size, now.Size) > maxDiffed {
		d.note("", name, fmt.Sprintf("file %s, %s: more than the %d that are compared", c.What, size, maxDiffed))
		return
	}
	before, after, err := d.History.Contents(d.Step, c.Path)
	if err != nil {
		d.note("", name, fmt.Sprintf("file %s, %s: %v", c.What, size, err))
		return
	}
	x, okX := readText(before)
	y, okY := readText(after)
	switch {
	case !okX || !okY:
		d.note("", name, fmt.Sprintf("binary file %s, %s", c.What, size))
	case c.What == steplog.Renamed && bytes.Equal(x, y):
	case c.What == steplog.Modified && bytes.Equal(x, y):
		d.time(name, was, now)
	case d.Stat:
		d.count(name, x, y)
	default:
		old := name
		if c.From != "" {
			old = Path(d.History.Project, c.From)
		}
		switch c.What {
		case steplog.Added:
			old = "/dev/null"
		case steplog.Removed:
			name = "/dev/null"
		}
		d.unified(show.OneLine(old), show.OneLine(name), x, y)
	}
}

// readText reads a file that can be shown; false for one that cannot.
func readText(r io.ReadCloser) ([]byte, bool) {
	if r == nil {
		return nil, true
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxDiffed+1))
	return data, err == nil && len(data) <= maxDiffed && bytes.IndexByte(data, 0) < 0
}

// count tells how many lines of a file were added and removed.
func (d *Diff) count(name string, x, y []byte) {
	more, less := 0, 0
	u, err := udiff.ToUnifiedDiff("", "", string(x), udiff.Lines(string(x), string(y)), 0)
	if err == nil {
		for _, h := range u.Hunks {
			for _, l := range h.Lines {
				switch l.Kind {
				case udiff.Insert:
					more++
				case udiff.Delete:
					less++
				}
			}
		}
	}
	d.more, d.less = d.more+more, d.less+less
	d.table.Row(name, fmt.Sprintf("+%d -%d", more, less))
}

// Total ends what stat tells.
func (d *Diff) Total() {
	if !d.Stat {
		return
	}
	if d.table.HasRows() {
		d.table.Print(d.Out, "")
	}
	fmt.Fprintf(d.Out, "%s, %s added, %d removed\n", show.Count(d.paths, "path", "paths"), show.Count(d.more, "line", "lines"), d.less)
}

func (d *Diff) unified(old, name string, x, y []byte) {
	text := udiff.Unified(old, name, string(x), string(y))
	if onlyCRLF(x) && onlyCRLF(y) { // else the end of a line may be what was changed
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	d.lines(text)
}

// FileDiff shows an edit of a settings file as diff does; a nil text is no file.
func FileDiff(path string, before, after []byte) string {
	old, now := show.OneLine(path), show.OneLine(path)
	if before == nil {
		old = "/dev/null"
	}
	if after == nil {
		now = "/dev/null"
	}
	return udiff.Unified(old, now, string(before), string(after))
}

// PrintDiff prints a unified diff of one file, without colours.
func PrintDiff(w io.Writer, text string) { PaintDiff(w, text, false) }

// PaintDiff is PrintDiff with colours where they are wanted.
func PaintDiff(w io.Writer, text string, colour bool) { (&Diff{Out: w, Colour: colour}).lines(text) }

// lines prints a unified diff of one file.
func (d *Diff) lines(text string) {
	header := 2
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		colour := ""
		switch header--; {
		case header >= 0:
			colour = bold
		case strings.HasPrefix(line, "@@"):
			colour = cyan
		case strings.HasPrefix(line, "-"):
			colour = red
		case strings.HasPrefix(line, "+"):
			colour = green
		}
		d.line(colour, line)
	}
}

func onlyCRLF(text []byte) bool {
	return bytes.Count(text, []byte("\n")) == bytes.Count(text, []byte("\r\n"))
}

func (d *Diff) line(colour, line string) {
	line = show.Escape(line)
	if colour != "" && d.Colour {
		line = colour + line + plain
	}
	fmt.Fprintln(d.Out, line)
}
