//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// item is one thing that happens: a step (operations, and edits while it waits), an
// edit by the person, or a command of the history.
type item struct {
	step, during, edit []op
	command            []string // undo or redo with its arguments
	dry                bool     // asked first what it would do
}

// String is what the person types.
func (i item) String() string {
	switch {
	case i.command != nil:
		line := "carrel"
		for _, word := range i.command {
			line += " " + quoted(word)
		}
		return line + map[bool]string{true: " --dry-run; " + line}[i.dry]
	case i.edit != nil:
		return typed(i.edit)
	case i.during != nil:
		return "{ sleep 1; " + typed(i.during) + "; } | carrel run -- bash -c " + quoted(typed(i.step))
	}
	return "carrel run -- bash -c " + quoted(typed(i.step))
}

// line is what undo and redo go along while no edit comes between: the trees before
// and after each step. Where one is not known it is nil.
type line struct {
	trees []*tree
	steps []uint64
	at    int  // the tree that is there now
	soft  bool // an edit lies within: to refuse is right as well
	once  bool // good for one move
	loose bool // times of directories are new
}

// model is the tree as it must be, beside the real one.
type model struct {
	w        *world
	other    bool // the history is on another file system
	items    []item
	now      *tree
	line     line
	list     []toldStep        // what history says
	done     map[uint64]effect // what records of the history did, by number
	brought  map[string]bool   // tokens that came by a command, behind the name of the command
	by       map[uint64]int    // by which command undos and redos were made
	commands int
	partial  map[uint64]bool // undos of some paths, or that left some in the way
	reached  map[uint64]bool // files beside the project that a step changed
	owed     []string        // tokens that a command has just taken
	counter  []string        // the command that brings them back
	loose    bool            // a step that history does not list has changed times of directories
	refused  []string        // the command before was refused
	answer   toldUndo
	answered result // of the newest command
	failure  *failure
}

// effect is what a step did.
type effect struct {
	before, after *tree
	mixed         bool // with edits
}

// failure is what was wrong first.
type failure struct{ kind, why string }

func (m *model) fail(kind, format string, args ...any) {
	if m.failure == nil {
		m.failure = &failure{kind, fmt.Sprintf(format, args...)}
	}
}

// start makes the project.
func (m *model) start(first []op) {
	m.w.mkdir(m.w.project, 0o700)
	m.w.mkdir(m.w.home+"/src/beside", 0o700)
	m.w.plain(built.attack, changeWords(first)...)
	m.done, m.brought, m.reached = make(map[uint64]effect), make(map[string]bool), make(map[uint64]bool)
	m.partial, m.by, m.now = make(map[uint64]bool), make(map[uint64]int), m.w.look()
	m.line = line{trees: []*tree{m.now}}
}

// play lets items happen until there is none or something is wrong.
func (m *model) play(next func() (item, bool)) {
	for m.failure == nil {
		i, ok := next()
		if !ok {
			break
		}
		m.items = append(m.items, i)
		switch {
		case i.command != nil:
			m.command(i)
		case i.edit != nil:
			m.w.plain(built.attack, changeWords(i.edit)...)
			m.refused, m.owed, m.counter = nil, nil, nil
			m.now = m.w.look()
			m.line = line{trees: []*tree{m.now}}
		default:
			m.step(i)
		}
	}
}

// step runs operations behind the walls.
func (m *model) step(i item) {
	before := m.now
	r := m.w.stepped(append([]string{"run", "--json", "--read", built.attack, "--", built.attack}, changeWords(i.step)...), func() {
		time.Sleep(700 * time.Millisecond) // an edit just after the step has closed a file counts as the step's
		m.w.plain(built.attack, changeWords(i.during)...)
	})
	var told struct {
		Steps []struct {
			toldStep
			Lost json.RawMessage `json:"not_kept"` // a list here
		}
	}
	if r.err != "" {
		if err := json.Unmarshal([]byte(r.err), &told); err != nil {
			m.fail("answer", "%v: %s", err, r)
		}
	}
	if r.code != 0 {
		m.fail("run", "%s", r)
	}
	m.now, m.refused, m.owed, m.counter = m.w.look(), nil, nil, nil
	made := told.Steps
	for _, s := range made {
		m.list = append(m.list, s.toldStep)
		m.done[s.Step] = effect{before, m.now, i.during != nil}
	}
	for path, one := range before.things {
		if strings.HasPrefix(path, beyond) && before.told(path, true) != m.now.told(path, true) {
			m.reached[one.ino] = true
		}
	}
	switch diff := m.now.differences(before, false); {
	case i.during != nil:
		m.line = line{trees: []*tree{m.now}}
	case len(made) == 0 && diff != "":
		m.fail("untold", "a run that changed this is no step:\n%s", diff)
	case len(made) == 0:
		m.loose = m.loose || m.now.differences(before, true) != ""
		m.line.trees[m.line.at] = m.now
	default:
		m.line.trees = append(m.line.trees[:m.line.at+1:m.line.at+1], m.now)
		m.line.steps = append(m.line.steps[:m.line.at:m.line.at], made[len(made)-1].Step)
		m.line.at++
		if len(made) > 1 {
			m.line = line{trees: []*tree{m.now}}
		}
	}
}

// stepped runs carrel, and does something if the command inside waits.
func (w *world) stepped(args []string, meanwhile func()) result {
	w.t.Helper()
	var said bytes.Buffer
	cmd := w.command(w.bin, args...)
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	w.must(err)
	out, err := cmd.StdoutPipe()
	w.must(err)
	w.must(cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == "held" {
			meanwhile()
			w.must(in.Close())
		}
	}
	err = cmd.Wait()
	r := result{err: said.String()}
	w.ended(&r, cmd, err)
	return r
}

// moved says whether a record of the history has changed anything in the end.
func moved(s toldStep) bool { return s.Added+s.Modified+s.Removed+s.Renamed > 0 }

// changed says whether it is a step that can be taken back.
func changed(s toldStep) bool { return s.Kind != "undo" && s.Kind != "redo" && moved(s) }
