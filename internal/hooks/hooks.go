package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"carrel/internal/settings"
)

// Host is what Plan and Status have to know of the machine.
type Host struct {
	Home    string                   // the user's home directory, absolute
	Getenv  func(name string) string // the user's environment
	Program string                   // carrel's path as commands inside a workspace see it
}

// State tells how much of an agent's hooks is there.
type State string

// The states of an agent's hooks.
const (
	Installed    State = "installed"
	NotInstalled State = "not-installed"
	Partly       State = "partly"     // some of the events have their entry
	Missing      State = "missing"    // there is no settings file
	Unreadable   State = "unreadable" // it cannot be read or parsed
)

// Operation is what Plan plans.
type Operation int

// The operations.
const (
	Install Operation = iota
	Remove
)

// Report tells about one agent.
type Report struct {
	Agent, Title string
	File         string // the settings file with the entries, or where they would go
	State        State
	Err          error    // why it is Unreadable
	Notes        []string // what keeps the hooks from running, and the like
}

// Change is one agent's edit, planned and not done yet. A plan that finds
// nothing to do has no files.
type Change struct {
	Report        // as it will be
	Files  []Edit // what is changed, in order
}

// Edit is the edit of one file. After is nil when the file is removed.
type Edit struct {
	Path          string
	Before, After []byte
	file          *settings.File
}

// Close lets go of the files of a change.
func (c *Change) Close() {
	for _, e := range c.Files {
		e.file.Close()
	}
}

// Apply writes what was planned. What somebody else has changed since is
// refused and left alone.
func (c *Change) Apply() error {
	for _, e := range c.Files {
		var err error
		if e.After == nil {
			err = e.file.Remove()
		} else {
			err = e.file.Replace(e.After)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", e.Path, err)
		}
	}
	return nil
}

// Status looks at one agent and changes nothing.
func (h Host) Status(name string) (Report, error) {
	c, err := h.look(name)
	if err != nil {
		return Report{}, err
	}
	defer c.close()
	return c.report(), nil
}

// Present tells whether an agent's settings directory exists.
func (h Host) Present(name string) bool {
	c, err := h.look(name)
	if err != nil {
		return false
	}
	defer c.close()
	return !errors.Is(c.err(), settings.ErrNoDir)
}

// Plan works out an operation for one agent and changes nothing. Close the
// change when it is done with.
func (h Host) Plan(op Operation, name string) (*Change, error) {
	c, err := h.look(name)
	if err != nil {
		return nil, err
	}
	change, err := c.plan(op)
	if err != nil {
		c.close()
		return nil, err
	}
	for _, l := range c.files { // those that are not edited are done with
		if l.file != nil && !change.holds(l.file) {
			l.file.Close()
		}
	}
	return change, nil
}

func (c *Change) holds(f *settings.File) bool {
	for _, e := range c.Files {
		if e.file == f {
			return true
		}
	}
	return false
}

// look reads the files of one agent.
func (h Host) look(name string) (*looked, error) {
	a := agentNamed(name)
	if a == nil {
		return nil, fmt.Errorf("there are no hooks for an agent %q\nhint: there are %s", name, strings.Join(Names(), ", "))
	}
	dir, elsewhere := a.dir(h.Home, h.Getenv)
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("%s: %q is not an absolute path; set HOME or %s", a.name, dir, a.variable)
	}
	c := &looked{host: h, agent: a, dir: dir, elsewhere: elsewhere}
	for _, s := range a.files {
		c.files = append(c.files, h.lookAt(filepath.Join(dir, s.name), s.format))
	}
	return c, nil
}

func (h Host) lookAt(path string, format int) *lookedFile {
	l := &lookedFile{path: path, format: format}
	if l.file, l.err = settings.Open(path); l.err == nil && l.file.Text != nil {
		l.doc, l.err = parse(format, l.file.Text)
		var p *settings.Problem
		if errors.As(l.err, &p) {
			p.File = path
		}
	}
	if l.doc != nil {
		l.entries = entries(l.doc.tree(), h.Program)
	}
	return l
}

// looked is an agent with its files read.
type looked struct {
	host      Host
	agent     *agent
	dir       string
	elsewhere bool
	files     []*lookedFile
}

type lookedFile struct {
	path    string
	format  int
	file    *settings.File // nil with err
	doc     document       // nil with err, and when there is no file
	entries []entry
	err     error
}

func (c *looked) close() {
	for _, l := range c.files {
		if l.file != nil {
			l.file.Close()
		}
	}
}

// err is the first reason why the agent's settings cannot be read.
func (c *looked) err() error {
	for _, l := range c.files {
		if l.err != nil {
			return named(l)
		}
	}
	return nil
}

// named is a file's error with the file's name in front.
func named(l *lookedFile) error {
	var p *settings.Problem
	if errors.As(l.err, &p) {
		return l.err
	}
	return fmt.Errorf("%s: %w", l.path, l.err)
}

// home is the file that the entries are in, or would go to: one that has some,
// else the first that is there, else the last.
func (c *looked) home() *lookedFile {
	for _, l := range c.files {
		if len(l.entries) > 0 {
			return l
		}
	}
	for _, l := range c.files {
		if l.doc != nil {
			return l
		}
	}
	return c.files[len(c.files)-1]
}

func (c *looked) report() Report {
	l := c.home()
	r := Report{Agent: c.agent.name, Title: c.agent.title, File: l.path, Err: c.err()}
	missing := len(c.agent.missing(l.entries))
	switch {
	case errors.Is(r.Err, settings.ErrNoDir):
		r.State, r.Err = Missing, nil
	case r.Err != nil:
		r.State = Unreadable
	case l.doc == nil:
		r.State = Missing
	case len(l.entries) == 0:
		r.State = NotInstalled
	case missing > 0:
		r.State = Partly
	default:
		r.State = Installed
	}
	if r.State == Installed || r.State == Partly {
		r.Notes = c.notes(l)
	}
	return r
}

// plan works out what an operation changes. A file that cannot be parsed ends
// it, also one that would not be edited: entries may be in it.
func (c *looked) plan(op Operation) (*Change, error) {
	if err := c.err(); errors.Is(err, settings.ErrNoDir) && op == Remove {
		return &Change{Report: c.report()}, nil
	} else if errors.Is(err, settings.ErrNoDir) {
		return nil, fmt.Errorf("%w\nhint: start %s once, it makes it", err, c.agent.title)
	} else if err != nil {
		return nil, err
	}
	change := &Change{}
	files := []*lookedFile{c.home()}
	if op == Remove {
		files = c.files
	}
	for _, l := range files {
		if l.doc == nil && op == Remove {
			continue
		}
		e, err := c.edit(op, l)
		if err != nil {
			return nil, err
		}
		if e != nil {
			change.Files = append(change.Files, *e)
		}
	}
	change.Report = c.report()
	return change, nil
}

// edit works out the new text of one file, nil where nothing changes.
func (c *looked) edit(op Operation, l *lookedFile) (*Edit, error) {
	var text []byte
	var err error
	if op == Install {
		text, err = c.agent.install(l.format, l.file.Text, c.host.Program)
	} else {
		text, err = uninstall(l.format, l.file.Text, c.host.Program)
	}
	var p *settings.Problem
	switch {
	case errors.As(err, &p):
		p.File = l.path
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%s: %w", l.path, err)
	case l.file.Text != nil && bytes.Equal(text, l.file.Text):
		return nil, nil
	case len(text) > settings.MaxFile:
		return nil, fmt.Errorf("%s: with the hooks: %w", l.path, settings.ErrTooLarge)
	}
	if err := l.file.Editable(); err != nil {
		return nil, fmt.Errorf("%s: %w", l.path, err)
	}
	e := &Edit{Path: l.path, Before: l.file.Text, After: text, file: l.file}
	if op == Remove && l.file.Real == l.path && c.ourFile(l) {
		e.After = nil
	}
	l.reread(text, e.After == nil, c.host.Program)
	return e, nil
}

// ourFile tells whether a file is exactly what we make where there is none.
func (c *looked) ourFile(l *lookedFile) bool {
	made, err := c.agent.install(l.format, nil, c.host.Program)
	return err == nil && bytes.Equal(made, l.file.Text)
}

// reread makes the report tell what will be.
func (l *lookedFile) reread(text []byte, gone bool, program string) {
	l.doc, l.entries = nil, nil
	if !gone {
		if l.doc, l.err = parse(l.format, text); l.err == nil {
			l.entries = entries(l.doc.tree(), program)
		}
	}
}

// notes tell what keeps installed hooks from running.
func (c *looked) notes(l *lookedFile) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if c.elsewhere {
		add("%s=%s is not what a workspace shows: it shows ~/%s, and the hooks there", c.agent.variable, c.dir, c.agent.directory)
	}
	tree := l.doc.tree()
	if d, ok := l.doc.(*jsonDocument); ok && d.Extra() > 0 {
		at := d.Extra()
		add("%s reads plain JSON and ignores the whole file for the comment or comma in line %d", c.agent.title, at)
	}
	if off, _ := tree["disableAllHooks"].(bool); off {
		add("disableAllHooks is set: %s runs no hook", c.agent.title)
	}
	if c.agent.name == "codex" {
		out = append(out, c.codexNotes(l)...)
	}
	return out
}

// codexNotes look into config.toml, wherever the entries are.
func (c *looked) codexNotes(l *lookedFile) []string {
	var out []string
	var tree map[string]any
	if config := c.files[len(c.files)-1]; config.doc != nil {
		tree = config.doc.tree()
	}
	features, _ := tree["features"].(map[string]any)
	for _, key := range []string{"hooks", "codex_hooks"} {
		if on, ok := features[key].(bool); ok && !on {
			out = append(out, "features."+key+" is false: Codex runs no hook")
		}
	}
	events, _ := tree["hooks"].(map[string]any)
	state, _ := events["state"].(map[string]any)
	for _, e := range l.entries {
		if !trusted(state, l.path, e) {
			return append(out, "Codex runs a new hook only when you have looked at it: start codex outside, it asks (or /hooks)")
		}
	}
	return out
}
