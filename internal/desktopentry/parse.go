package desktopentry

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// Bounds of a file.
const (
	MaxSize = 256 << 10 // bytes
	MaxLine = 16 << 10  // bytes
)

// Entry is a launcher.
type Entry struct {
	Name      string   // for people; UTF-8
	Icon      string   // a name or a path, "" for none
	Exec      []string // the program and its arguments, still with field codes
	TryExec   string   // a program that has to be there, "" for none
	Path      string   // the working directory, "" for any
	Terminal  bool     // it runs in a terminal
	Hidden    bool     // it counts as removed
	NoDisplay bool     // it is not for menus

	File string // where the entry was read, for %k; the caller's to set
}

// Parse reads an entry, of at most [MaxSize] bytes. Errors begin with the line's
// number. A key that is there twice is one, but not a key that is unknown.
func Parse(r io.Reader) (*Entry, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, err
	}
	if len(text) > MaxSize {
		return nil, fmt.Errorf("more than %d bytes", MaxSize)
	}
	p := parser{entry: &Entry{}, lines: map[string]int{}}
	for line := range bytes.Lines(text) {
		p.line++
		if err := p.take(strings.TrimRight(string(line), "\r\n")); err != nil {
			return nil, fmt.Errorf("line %d: %w", p.line, err)
		}
	}
	if err := p.complete(); err != nil {
		return nil, err
	}
	return p.entry, nil
}

const (
	ourGroup    = "Desktop Entry"
	localeBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.@-"
)

type parser struct {
	entry *Entry
	line  int
	group string
	begun bool           // our group has begun
	lines map[string]int // where keys that we know are
}

func (p *parser) take(line string) error {
	switch trimmed := strings.TrimSpace(line); {
	case len(line) > MaxLine:
		return fmt.Errorf("%d bytes, want at most %d", len(line), MaxLine)
	case trimmed == "" || line[0] == '#':
		return nil
	case line[0] == '[':
		return p.header(trimmed)
	case p.group == "":
		return fmt.Errorf("%.60q stands before the first group, want [%s]", line, ourGroup)
	case p.group != ourGroup:
		return nil
	}
	key, value, found := strings.Cut(line, "=")
	if !found {
		return fmt.Errorf("%.60q: want KEY=VALUE", line)
	}
	return p.set(strings.TrimSpace(key), strings.TrimSpace(value))
}

func (p *parser) header(line string) error {
	name, closed := strings.CutSuffix(line[1:], "]")
	if !closed || name == "" || strings.ContainsAny(name, "[]") {
		return fmt.Errorf("%.60q: want a group as [%s]", line, ourGroup)
	}
	if name == ourGroup {
		if p.begun {
			return fmt.Errorf("[%s] is there twice", name)
		}
		p.begun = true
	}
	p.group = name
	return nil
}

// set takes a key of our group.
func (p *parser) set(key, value string) error {
	e := p.entry
	take := e.keys()[key]
	if locale, localised := strings.CutPrefix(key, "Name["); localised {
		locale, closed := strings.CutSuffix(locale, "]")
		if !closed || locale == "" || strings.Trim(locale, localeBytes) != "" {
			return fmt.Errorf("%.60q: want a locale in the brackets", key)
		}
		take = func(v string) error {
			_, err := people(v)
			return err
		}
	}
	if take == nil {
		return nil
	}
	if at := p.lines[key]; at != 0 {
		return fmt.Errorf("%s is in line %d already", key, at)
	}
	p.lines[key] = p.line
	value, err := unescape(value)
	if err == nil {
		err = take(value)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// keys are what we know, and what takes their values.
func (e *Entry) keys() map[string]func(string) error {
	return map[string]func(string) error{
		"Type":      isApplication,
		"Name":      func(v string) (err error) { e.Name, err = people(v); return err },
		"Icon":      text(&e.Icon),
		"TryExec":   text(&e.TryExec),
		"Path":      text(&e.Path),
		"Terminal":  truth(&e.Terminal),
		"Hidden":    truth(&e.Hidden),
		"NoDisplay": truth(&e.NoDisplay),
		"Exec":      e.setExec,
	}
}

func isApplication(v string) error {
	if v != "Application" {
		return fmt.Errorf("%.60q cannot be started, want Application", v)
	}
	return nil
}

// people makes text for people of a value, UTF-8 whatever it was.
func people(v string) (name string, err error) {
	err = text(&name)(v)
	return strings.ToValidUTF8(name, "\ufffd"), err
}

func text(to *string) func(string) error {
	return func(v string) error {
		if strings.IndexByte(v, 0) >= 0 {
			return errors.New("contains a NUL")
		}
		*to = v
		return nil
	}
}

func truth(to *bool) func(string) error {
	return func(v string) error {
		*to = v == "true"
		if v != "true" && v != "false" {
			return fmt.Errorf("%.60q, want true or false", v)
		}
		return nil
	}
}

func (e *Entry) setExec(v string) error {
	args, err := split(v)
	if err != nil {
		return err
	}
	switch name := args[0]; {
	case strings.Contains(name, "="):
		return fmt.Errorf("the program %.60q contains =", name)
	case strings.Contains(name, "/") && !path.IsAbs(name):
		return fmt.Errorf("the program %.60q: want a name or an absolute path", name)
	case name == "" || strings.Contains(strings.ReplaceAll(name, "%%", ""), "%"):
		return fmt.Errorf("the program %.60q: want a name or a path without field codes", name)
	}
	e.Exec = args
	return nil
}

// complete insists on what an application must have.
func (p *parser) complete() error {
	if !p.begun {
		return fmt.Errorf("no group [%s]", ourGroup)
	}
	for _, key := range []string{"Type", "Name", "Exec"} {
		if p.lines[key] == 0 {
			return fmt.Errorf("[%s] has no %s", ourGroup, key)
		}
	}
	return nil
}

// unescape reads what a backslash stands for in any value.
func unescape(v string) (string, error) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(v, `\`)
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		if after == "" {
			return "", errors.New(`a backslash at the end, want \\`)
		}
		i := strings.IndexByte(`sntr\`, after[0])
		if i < 0 {
			return "", fmt.Errorf(`%q: want \s, \n, \t, \r or \\ (so a backslash of Exec's own is written twice)`, `\`+after[:1])
		}
		b.WriteByte(" \n\t\r\\"[i])
		v = after[1:]
	}
}
