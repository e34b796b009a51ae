package fileops

import (
	"bytes"
	"context"
	"io"
	"os"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// Bounds on one file. One that is larger than a window is searched in several, which
// end with lines; a line that is longer than that is searched in pieces.
const (
	window   = 8 << 20
	maxMulti = 16 << 20 // where a match may go over lines
)

// fileResult is what a file has.
type fileResult struct {
	count int // matching lines
	lines []Line
	large int // 1: too large
}

// file searches one, with a buffer that is handed on. What cannot be read is as if it
// were not there.
func (m *matcher) file(ctx context.Context, path string, buf []byte) (r fileResult, _ []byte) {
	f, err := os.OpenFile(path, os.O_RDONLY|careful|noFollow, 0)
	if err != nil {
		return r, buf
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return r, buf
	}
	most := int64(window)
	if m.multi {
		if most = maxMulti; st.Size() > most {
			r.large = 1
			return r, buf
		}
	}
	if need := int(min(st.Size()+1, most)); cap(buf) < need {
		buf = make([]byte, need)
	}
	p := &pass{matcher: m, line: 1}
	kept := 0 // bytes at the beginning of buf: lines before, and the beginning of one
	for {
		if ctx.Err() != nil {
			return fileResult{}, buf
		}
		n, err := io.ReadFull(f, buf[kept:cap(buf)])
		end := err != nil
		data := buf[:kept+n]
		if bytes.IndexByte(data[kept:], 0) >= 0 {
			return fileResult{}, buf // no text
		}
		if !end {
			if cut := bytes.LastIndexByte(data, '\n'); cut >= p.fresh {
				data = data[:cut+1]
			}
		}
		if m.multi {
			p.whole(data)
		} else {
			p.window(data)
		}
		if end || p.enough() {
			return p.result, buf
		}
		from := p.remember(data)
		kept = copy(buf, buf[from:kept+n])
		if kept > cap(buf)/2 { // one line fills all: it is searched in pieces
			kept, p.fresh = 0, 0
		}
	}
}

// pass is the way through one file.
type pass struct {
	*matcher
	result  fileResult
	line    int64 // number of the line at fresh
	fresh   int   // in the window: where what was not searched yet begins
	shown   int64 // number of the last line that was kept
	waiting int   // lines that are still to be shown behind a match
}

// enough says whether nothing that follows in the file would be told.
func (p *pass) enough() bool {
	switch {
	case p.count:
		return false
	case p.keep == 0:
		return p.result.count > 0
	}
	return p.result.count > p.keep && p.waiting == 0
}

// window searches the lines from fresh on.
func (p *pass) window(data []byte) {
	for at := p.fresh; at < len(data) && !p.enough(); {
		if len(p.must) > 0 { // go to the next line that can match
			i := bytes.Index(data[at:], p.must)
			next := len(data)
			if i >= 0 {
				next = at + i
				next = at + bytes.LastIndexByte(data[at:next], '\n') + 1
			}
			at = p.skip(data, at, next)
			if i < 0 {
				break
			}
		}
		end := lineEnd(data, at)
		if p.re.Match(trimEnd(data[at:end])) {
			p.found(data, at, end)
		} else {
			p.behind(data, at, end)
		}
		if data[end-1] == '\n' { // else the line goes on in the next window
			p.line++
		}
		at = end
	}
	p.fresh = len(data)
}

// skip goes over lines that do not match.
func (p *pass) skip(data []byte, at, to int) int {
	for at < to && p.waiting > 0 {
		end := lineEnd(data, at)
		p.behind(data, at, end)
		at = end
		p.line++
	}
	p.line += int64(bytes.Count(data[at:to], []byte("\n")))
	return to
}

// behind shows a line that does not match if one before it did.
func (p *pass) behind(data []byte, at, end int) {
	if p.waiting > 0 {
		p.waiting--
		p.show(p.line, data[at:end], false)
	}
}

// found keeps a line that matches, with those before it.
func (p *pass) found(data []byte, at, end int) {
	p.result.count++
	if p.keep == 0 || p.result.count > p.keep {
		return
	}
	first, number := at, p.line
	for range p.before {
		if first == 0 || number-1 <= p.shown {
			break
		}
		first = bytes.LastIndexByte(data[:first-1], '\n') + 1
		number--
	}
	for ; first < at; number++ {
		e := lineEnd(data, first)
		p.show(number, data[first:e], false)
		first = e
	}
	p.show(p.line, data[at:end], true)
	p.waiting = p.after
}

func (p *pass) show(number int64, line []byte, match bool) {
	if p.keep == 0 || number <= p.shown {
		return
	}
	p.shown = number
	l := Line{Number: number, Match: match}
	l.Text, l.Cut = p.cutLine(trimEnd(line), match)
	p.result.lines = append(p.result.lines, l)
}

// cutLine makes a line fit, with the match in it.
func (p *pass) cutLine(line []byte, match bool) (string, bool) {
	if len(line) <= maxShown {
		return strings.ToValidUTF8(string(line), "\uFFFD"), false
	}
	from := 0
	if at := p.re.FindIndex(line); match && at != nil && at[1] > maxShown {
		from = max(0, min(at[0]-maxShown/4, len(line)-maxShown))
	}
	for range utf8.UTFMax {
		if from == 0 || utf8.RuneStart(line[from]) {
			break
		}
		from--
	}
	part := line[from:min(from+maxShown, len(line))]
	for n := 1; n < utf8.UTFMax && n < len(part); n++ { // no half character at the end
		if tail := part[len(part)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				part = part[:len(part)-n]
			}
			break
		}
	}
	return strings.ToValidUTF8(string(part), "\uFFFD"), true
}

// remember gives where the part of a window begins that the next one needs: lines that
// may be shown before a match, and the beginning of the last line.
func (p *pass) remember(data []byte) int {
	from := len(data)
	for range p.before {
		if from == 0 {
			break
		}
		from = bytes.LastIndexByte(data[:from-1], '\n') + 1
	}
	p.fresh = len(data) - from
	return from
}

// whole searches a file in which a match may go over lines.
func (p *pass) whole(data []byte) {
	last := -1 // end of the last line that was counted
	for _, m := range p.re.FindAllIndex(data, -1) {
		at := bytes.LastIndexByte(data[:m[0]], '\n') + 1
		for at < len(data) && (at < m[1] || at <= m[0]) && !p.enough() {
			end := lineEnd(data, at)
			if at > last {
				p.forward(data, at)
				p.found(data, at, end)
				p.line, p.fresh, last = p.line+1, end, at
			}
			at = end
		}
	}
	p.forward(data, len(data))
}

// forward goes to a line of a file that is there as a whole.
func (p *pass) forward(data []byte, to int) {
	if to > p.fresh {
		p.skip(data, p.fresh, to)
		p.fresh = to
	}
}

func lineEnd(data []byte, at int) int {
	if n := bytes.IndexByte(data[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(data)
}

func trimEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// required is the longest text that every match of an expression has, nil where none
// is known.
func required(re *regexp.Regexp) []byte {
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return nil
	}
	best := longest(tree.Simplify())
	if strings.ContainsAny(best, "\n\r") || strings.ContainsRune(best, utf8.RuneError) {
		return nil
	}
	return []byte(best)
}

func longest(re *syntax.Regexp) (best string) {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			best = string(re.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		best = longest(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if one := longest(sub); len(one) > len(best) {
				best = one
			}
		}
	}
	return best
}
