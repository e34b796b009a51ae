package clients

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/hooks"
	"carrel/internal/settings"
)

// Operation is what is done for a request.
type Operation string

// The operations.
const (
	Setup  Operation = "setup"
	Remove Operation = "remove"
)

// work is one request being planned.
type work struct {
	h     Host
	c     *client
	p     places
	r     *Request
	old   setup // what was there by the record
	next  setup // what will be
	known bool  // the record has it
	lost  bool  // it was there, and the record has not
	edits []*edit
	notes []string
}

// edit is one file of it.
type edit struct {
	path   string
	file   *settings.File // nil where the directory is not there
	before []byte
	after  []byte // nil: the file goes, or never was
}

func (w *work) close() {
	for _, e := range w.edits {
		if e.file != nil {
			e.file.Close()
		}
	}
}

// at is the edit of a file, which is read when it is named first.
func (w *work) at(path string) (*edit, error) {
	for _, e := range w.edits {
		if e.path == path {
			return e, nil
		}
	}
	e := &edit{path: path}
	f, err := settings.Open(path)
	switch {
	case errors.Is(err, settings.ErrNoDir):
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	default:
		e.file, e.before, e.after = f, f.Text, f.Text
	}
	w.edits = append(w.edits, e)
	return e, nil
}

// change edits the text of a file.
func (w *work) change(path string, how func(text []byte) ([]byte, error)) error {
	e, err := w.at(path)
	if err != nil {
		return err
	}
	text, err := how(e.after)
	var p *settings.Problem
	switch {
	case errors.As(err, &p):
		p.File = path
		return err
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case len(text) > settings.MaxFile:
		return fmt.Errorf("%s: with what is added: %w", path, settings.ErrTooLarge)
	}
	if e.after == nil && text != nil && e.before == nil && !slices.Contains(w.next.Made, path) {
		w.next.Made = append(w.next.Made, path)
	}
	e.after = text
	return nil
}

// setup plans to put everything in.
func (w *work) setup() error {
	if w.r.Block && w.r.Scope == Project && w.c.name == "codex" {
		return errors.New("codex: --block-builtin works in the user's settings only: Codex reads no such setting from a project\nhint: leave --scope project away, or use --while-serving")
	}
	w.next = setup{Request: *w.r, Program: w.h.Program, Env: w.c.env(w.h), Servers: w.p.servers, Hooks: w.p.hooks, Theirs: w.old.Theirs, Steps: w.old.Steps, Made: slices.Clone(w.old.Made), Dirs: slices.Clone(w.old.Dirs), Own: map[string]string{}}
	if err := w.change(w.p.servers, func(text []byte) ([]byte, error) {
		w.next.ServersKnown = w.old.ServersKnown
		e, err := w.p.find(text, w.r.Name)
		switch {
		case err != nil:
		case !e.there:
			w.next.ServersKnown, w.next.Theirs = knownIn(text, w.p.key, w.p.toml), false
		case !w.known && slices.Equal(e.words, w.r.words(w.h)):
			w.next.Theirs = true
		}
		return w.p.register(w.c, w.h, text, w.r, &w.old)
	}); err != nil {
		return err
	}
	if err := w.block(); err != nil {
		return err
	}
	gate := w.gate()
	if err := w.heeded(gate != nil); err != nil {
		return err
	}
	if err := w.setupHooks(gate); err != nil {
		return err
	}
	if w.p.plugin != "" {
		text, err := w.h.plugin(w.c, gate)
		if err != nil {
			return err
		}
		if err := w.put(w.p.plugin, text); err != nil {
			return err
		}
	}
	if err := w.put(w.p.skill, skill); err != nil {
		return err
	}
	return w.directories()
}

// gate is the gate that the request wants, nil for none.
func (w *work) gate() *hooks.Gate {
	switch {
	case w.r.Block && w.c.deny == nil && w.p.blocker == "":
		return &hooks.Gate{Agent: w.c.name, Program: w.h.Program, Always: true}
	case w.r.Serving && !w.r.Block:
		return &hooks.Gate{Agent: w.c.name, Program: w.h.Program}
	}
	return nil
}

func (w *work) setupHooks(gate *hooks.Gate) error {
	if w.p.hooks == "" {
		return nil
	}
	toml := filepath.Ext(w.p.hooks) == ".toml"
	e, err := w.at(w.p.hooks)
	if err != nil {
		return err
	}
	if gate != nil {
		if err := w.change(w.p.hooks, func(text []byte) ([]byte, error) { return gate.Put(toml, text) }); err != nil {
			return err
		}
		if w.c.name == "codex" {
			w.notes = append(w.notes, "Codex runs a new hook only when you have looked at it: start codex, it asks (or /hooks); until then its own tools stay")
		}
	} else if e.after != nil {
		if err := w.change(w.p.hooks, func(text []byte) ([]byte, error) { return hooks.TakeGates(toml, text) }); err != nil {
			return err
		}
	}
	if w.r.Scope != User {
		return nil
	}
	return w.change(w.p.hooks, func(text []byte) ([]byte, error) {
		out, err := hooks.PutSteps(w.c.name, toml, text, w.h.Inside)
		w.next.Steps = w.next.Steps || err == nil && !bytes.Equal(out, text)
		return out, err
	})
}

// put plans an own file. One that is there and not as we wrote it is the user's.
func (w *work) put(path, content string) error {
	e, err := w.at(path)
	if err != nil {
		return err
	}
	if e.before != nil && string(e.before) != content && !w.wrote(path, e.before) {
		return fmt.Errorf("%s is there already, and not as carrel agent setup writes it\nhint: move it away", path)
	}
	e.after = []byte(content)
	w.next.Own[path] = hashOf(e.after)
	return nil
}

// take plans to remove an own file; one that the user has changed stays.
func (w *work) take(path, content string) error {
	e, err := w.at(path)
	switch {
	case err != nil:
		return err
	case e.before == nil:
		return nil
	case string(e.before) != content && !w.wrote(path, e.before):
		if w.old.Own[path] != "" {
			w.notes = append(w.notes, path+" was changed by another program and stays")
		}
		return nil
	}
	e.after = nil
	return nil
}

// wrote tells whether a text is what we put into an own file.
func (w *work) wrote(path string, text []byte) bool {
	hash := hashOf(text)
	return w.old.Own[path] == hash || w.old.Writing[path] == hash
}

// directories notes which have to be made, outermost first.
func (w *work) directories() error {
	for _, e := range w.edits {
		if e.after == nil {
			continue
		}
		var missing []string
		for dir := filepath.Dir(e.path); !exists(dir) && !slices.Contains(w.next.Dirs, dir); dir = filepath.Dir(dir) {
			missing = append(missing, dir)
		}
		slices.Reverse(missing)
		w.next.Dirs = append(w.next.Dirs, missing...)
	}
	return nil
}

// remove plans to take everything out, in the order that gives back the bytes.
func (w *work) remove() error {
	w.next = setup{Request: *w.r, Env: w.c.env(w.h)}
	if err := w.forgotten(); err != nil {
		return err
	}
	w.next.Steps = w.lost // who finishes this does not find the server that told so
	if w.p.hooks != "" {
		toml := filepath.Ext(w.p.hooks) == ".toml"
		e, err := w.at(w.p.hooks)
		if err != nil {
			return err
		}
		if e.after != nil {
			if err := w.change(w.p.hooks, func(text []byte) ([]byte, error) {
				var err error
				if w.old.Steps || w.lost {
					if text, err = hooks.TakeSteps(toml, text, w.h.Inside); err != nil {
						return nil, err
					}
				}
				return hooks.TakeGates(toml, text)
			}); err != nil {
				return err
			}
		}
	}
	if err := w.allow(); err != nil {
		return err
	}
	if err := w.removeServer(); err != nil {
		return err
	}
	plugin, err := w.h.plugin(w.c, nil)
	if err != nil {
		return err
	}
	for path, content := range map[string]string{w.p.skill: skill, w.p.plugin: plugin, w.p.blocker: noEnvironment} {
		if path != "" {
			if err := w.take(path, content); err != nil {
				return err
			}
		}
	}
	w.removeMade()
	return nil
}

// forgotten looks whether there was a setup that the record has lost: then what is ours
// by what it says goes, and what could be the user's as well is named.
func (w *work) forgotten() error {
	e, err := w.at(w.p.servers)
	if err != nil || e.before == nil || w.known {
		return err
	}
	found, err := w.p.find(e.before, w.r.Name)
	if w.lost = err == nil && found.ours(w.c, w.h.Program); !w.lost || w.c.deny == nil {
		return nil
	}
	s, err := w.at(w.p.settings)
	if err != nil || s.before == nil {
		return err
	}
	have, err := denied(s.before)
	if err != nil {
		return nil // told where it is edited
	}
	if have = slices.DeleteFunc(have, func(tool string) bool { return !slices.Contains(w.c.deny, tool) }); len(have) > 0 {
		w.notes = append(w.notes, fmt.Sprintf("%s still denies %s: it is not known whether you or carrel did that; take out by hand what is not yours", w.p.settings, strings.Join(have, ", ")))
	}
	return nil
}

func (w *work) removeServer() error {
	e, err := w.at(w.p.servers)
	if err != nil || e.after == nil || w.old.Theirs {
		return err
	}
	return w.change(w.p.servers, func(text []byte) ([]byte, error) {
		found, err := w.p.find(text, w.r.Name)
		if err == nil && found.there && w.known && !found.ours(w.c, w.h.Program, w.old.Program) {
			w.notes = append(w.notes, fmt.Sprintf("the server %q in %s was changed by another program and stays", w.r.Name, w.p.servers))
		}
		if err != nil || !found.ours(w.c, w.h.Program, w.old.Program) {
			return text, err
		}
		return w.p.unregister(text, w.r.Name, w.old.ServersKnown)
	})
}

// removeMade removes the settings files that we made and that hold nothing.
func (w *work) removeMade() {
	for _, e := range w.edits {
		if !slices.Contains(w.old.Made, e.path) || e.after == nil || e.file == nil || isLink(e.path) {
			continue
		}
		if left := bytes.Join(bytes.Fields(e.after), nil); len(left) == 0 || string(left) == "{}" {
			e.after = nil
		}
	}
}

func isLink(path string) bool {
	st, err := os.Lstat(path)
	return err == nil && st.Mode()&os.ModeSymlink != 0
}

// changed are the edits that change something.
func (w *work) changed() []*edit {
	return slices.DeleteFunc(slices.Clone(w.edits), func(e *edit) bool {
		return (e.before == nil) == (e.after == nil) && bytes.Equal(e.before, e.after)
	})
}

// editable refuses files that are not the user's own to replace.
func (w *work) editable() error {
	for _, e := range w.changed() {
		if e.file != nil {
			if err := e.file.Editable(); err != nil {
				return fmt.Errorf("%s: %w", e.path, err)
			}
		}
	}
	return nil
}

// stage writes the new text beside the file, whose directory is there now.
func (e *edit) stage() error {
	if e.file == nil {
		f, err := settings.Open(e.path)
		if err != nil {
			return fmt.Errorf("%s: %w", e.path, err)
		}
		if e.file = f; f.Text != nil {
			return fmt.Errorf("%s: %w", e.path, settings.ErrChanged)
		}
	}
	if e.after == nil {
		return nil
	}
	if err := e.file.Stage(e.after); err != nil {
		return fmt.Errorf("%s: %w", e.path, err)
	}
	return nil
}

// commit puts it in place.
func (e *edit) commit() error {
	var err error
	if e.after == nil {
		err = e.file.Remove()
	} else {
		err = e.file.Commit()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.path, err)
	}
	return nil
}

// makeDirs makes directories, as a client would make its own.
func makeDirs(dirs []string) error {
	for _, dir := range dirs {
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}
