package clients

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/settings"
)

// tries bounds how often a plan is made anew because somebody wrote meanwhile.
const tries = 5

// Result tells what was done, or would be, for one request.
type Result struct {
	Request
	Files []Edit
	Notes []string
}

// Edit is a file that was or would be changed. A nil text is no file.
type Edit struct {
	Path          string
	Before, After []byte
}

// stop is called before each write with its number; tests stop there.
var stop = func(string) {}

// Do carries out an operation for all requests, or with dry only tells. Nothing
// is written where one of them cannot be; what fails between is taken back.
func (h Host) Do(op Operation, requests []Request, dry bool) (results []Result, err error) {
	store, err := h.openStore(!dry)
	if err != nil {
		return nil, err
	}
	rec := &record{Version: 1}
	var kept []string
	defer func() { // whoever wrote it is told in any case
		switch {
		case err != nil && len(kept) > 0:
			err = fmt.Errorf("%s; %w", strings.Join(kept, "; "), err)
		case len(results) > 0:
			results[0].Notes = append(kept, results[0].Notes...)
		}
	}()
	if store != nil {
		defer store.close()
		if rec, err = store.read(); err != nil {
			return nil, err
		}
		if rec.Pending != nil && !dry {
			if _, kept, err = h.finish(store, rec); err != nil {
				return nil, err
			}
		}
	}
	if err := h.elsewhere(rec, op, requests); err != nil {
		return nil, err
	}
	return h.do(store, rec, op, requests, dry)
}

// elsewhere refuses to set up again where a variable names another directory than it did.
func (h Host) elsewhere(rec *record, op Operation, requests []Request) error {
	for _, r := range requests {
		s := rec.find(&r)
		if s == nil || op != Setup || r.Scope != User {
			continue
		}
		if c, err := named(r.Client); err == nil && s.Env != c.env(h) {
			return fmt.Errorf("%s: it is set up with %s=%q, and that is %q now\nhint: `carrel agent remove %s` first", r.Client, c.variable, s.Env, c.env(h), r.Client)
		}
	}
	return nil
}

func (h Host) do(store *store, rec *record, op Operation, requests []Request, dry bool) ([]Result, error) {
	var err error
	for range tries {
		var works []*work
		if works, err = h.plan(rec, op, requests, dry); err != nil {
			return nil, err
		}
		results := resultsOf(works)
		if !dry {
			err = h.carryOut(store, rec, op, works)
		}
		for _, w := range works {
			w.close()
		}
		if err == nil {
			return results, nil
		}
		if !errors.Is(err, settings.ErrChanged) {
			return nil, err
		}
	}
	return nil, err
}

func (h Host) plan(rec *record, op Operation, requests []Request, dry bool) (works []*work, err error) {
	defer func() {
		if err != nil {
			for _, w := range works {
				w.close()
			}
		}
	}()
	for i := range requests {
		r := &requests[i]
		c, err := named(r.Client)
		if err != nil {
			return works, err
		}
		at := h
		at.Project = r.Project
		w := &work{h: at, c: c, r: r, old: setup{Request: *r}}
		works = append(works, w)
		other := rec.otherName(r)
		switch s := rec.find(r); {
		case s != nil:
			w.old, w.known = *s, true
		case other != nil && op == Setup:
			return works, fmt.Errorf("%s: it is set up already, with the server %q\nhint: `carrel agent remove %s` first; there is one name at a time", r.Client, other.Name, r.Client)
		case other != nil && r.Name == DefaultName: // nobody has said which
			r.Name, w.old, w.known = other.Name, *other, true
		}
		if w.known {
			w.h = w.h.as(c, w.old.Env)
		}
		if v := c.env(w.h); v != "" && !filepath.IsAbs(v) {
			return works, fmt.Errorf("%s: %s is %q, want an absolute path", r.Client, c.variable, v)
		}
		w.p = c.places(w.h, r.Scope)
		w.p.keep(&w.old)
		if op == Setup {
			err = w.setup()
		} else {
			err = w.remove()
		}
		if err == nil {
			err = w.editable()
		}
		if err != nil {
			return works, fmt.Errorf("%s: %w", r.Client, err)
		}
	}
	return works, nil
}

func resultsOf(works []*work) []Result {
	var out []Result
	for _, w := range works {
		r := Result{Request: *w.r, Notes: w.notes}
		for _, e := range w.changed() {
			r.Files = append(r.Files, Edit{e.path, e.before, e.after})
		}
		out = append(out, r)
	}
	return out
}

// carryOut writes what is going to happen, does it, and writes that it is done.
// A failure takes back what was written, and leaves the record as it was.
func (h Host) carryOut(store *store, rec *record, op Operation, works []*work) error {
	before := rec.Pending
	p := &pending{Op: op, Files: map[string]states{}}
	for _, w := range works {
		p.Setups = append(p.Setups, w.next)
		for _, e := range w.changed() {
			p.Files[e.path] = states{hashOf(e.before), hashOf(e.after)}
		}
	}
	rec.Pending = p
	stop("record")
	if err := store.write(rec); err != nil {
		rec.Pending = before
		return err
	}
	done, err := writeAll(works)
	if err != nil {
		for _, w := range works {
			w.close() // with what is beside, which would keep directories
		}
		err = errors.Join(err, takeBack(done))
		if rec.Pending = before; !errors.Is(err, errNotBack) {
			removeDirs(op, works)
			return errors.Join(err, store.write(rec))
		}
		return err
	}
	if op == Remove {
		removeDirs(op, works)
	}
	rec.settle()
	stop("settle")
	return store.write(rec)
}

// writeAll writes everything beside first: a disk that is full shows then, and
// nothing has changed.
func writeAll(works []*work) (done []*edit, err error) {
	for _, w := range works {
		stop("directories")
		if err := makeDirs(w.next.Dirs); err != nil {
			return done, err
		}
		for _, e := range w.changed() {
			if err := e.stage(); err != nil {
				return done, err
			}
		}
	}
	for _, w := range works {
		for _, e := range w.changed() {
			stop(e.path)
			if err := e.commit(); err != nil {
				return done, err
			}
			done = append(done, e)
		}
	}
	return done, nil
}

var errNotBack = errors.New("what was written before could not all be taken back\nhint: carrel agent heal")

// takeBack gives files their texts from before, if nobody else has written.
func takeBack(done []*edit) error {
	for _, e := range slices.Backward(done) {
		f, err := settings.Open(e.path)
		if err == nil {
			switch {
			case hashOf(f.Text) != hashOf(e.after):
				err = settings.ErrChanged
			case e.before == nil:
				err = f.Remove()
			default:
				err = f.Replace(e.before)
			}
			f.Close()
		}
		if err != nil {
			return fmt.Errorf("%s: %w (%w)", e.path, err, errNotBack)
		}
	}
	return nil
}

// removeDirs removes directories that we made and that are empty.
func removeDirs(op Operation, works []*work) {
	for _, w := range works {
		dirs := w.old.Dirs
		if op == Setup {
			dirs = slices.DeleteFunc(slices.Clone(w.next.Dirs), func(d string) bool { return slices.Contains(w.old.Dirs, d) })
		}
		for _, dir := range slices.Backward(dirs) {
			stop("rmdir " + dir)
			_ = os.Remove(dir) // who put something in keeps it
		}
	}
}

// finish completes an operation that was interrupted; it tells what it did, and what it
// found that is somebody else's.
func (h Host) finish(store *store, rec *record) (did, kept []string, err error) {
	p := rec.Pending
	for path, state := range p.Files {
		for _, name := range settings.Sweep(path, func(text []byte) bool {
			hash := hashOf(text)
			return hash == state.Before || hash == state.After
		}) {
			kept = append(kept, "what another program wrote while carrel was killed is in "+name)
		}
	}
	slices.Sort(kept)
	var requests []Request
	for _, s := range p.Setups {
		requests = append(requests, s.Request)
	}
	rec.absorb(h)
	if _, err := h.do(store, rec, p.Op, requests, false); err != nil {
		return nil, kept, fmt.Errorf("finishing the %s that was interrupted: %w", p.Op, err)
	}
	for _, r := range requests {
		did = append(did, fmt.Sprintf("%s (%s): finished the %s that was interrupted", r.Client, r.Scope, p.Op))
	}
	return did, kept, nil
}

// absorb puts into the setups what an interrupted operation has done so far. What it has
// written is told from what was there before by the files' hashes.
func (r *record) absorb(h Host) {
	for _, s := range r.Pending.Setups {
		old := r.find(&s.Request)
		if old == nil {
			r.Setups = append(r.Setups, setup{Request: s.Request, Env: s.Env, Program: s.Program, Servers: s.Servers, Hooks: s.Hooks, Theirs: s.Theirs})
			old = &r.Setups[len(r.Setups)-1]
		}
		old.Steps = old.Steps || s.Steps
		old.Writing = s.Own
		old.ServersKnown = max(old.ServersKnown, s.ServersKnown)
		for _, path := range s.Made {
			if !slices.Contains(old.Made, path) {
				old.Made = append(old.Made, path)
			}
		}
		for _, dir := range s.Dirs {
			if !slices.Contains(old.Dirs, dir) {
				old.Dirs = append(old.Dirs, dir)
			}
		}
		if state, planned := r.Pending.Files[s.Servers]; planned && hashOf(textOf(s.Servers)) == state.After {
			old.Program, old.Theirs = s.Program, s.Theirs
		}
		c, err := named(s.Client)
		if err != nil {
			continue
		}
		at := h.as(c, s.Env)
		at.Project = s.Project
		path := c.places(at, s.Scope).settings
		state, planned := r.Pending.Files[path]
		now := hashOf(textOf(path))
		if planned && now == state.Before || r.Pending.Op == Remove && now != state.After {
			continue // not written, or somebody else has written since: then what was ours still is
		}
		old.Deny, old.DenyKnown = s.Deny, s.DenyKnown
	}
}

func textOf(path string) []byte {
	f, err := settings.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	return f.Text
}
