package projecthistory

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"carrel/internal/api"
	"carrel/internal/broker"
	"carrel/internal/ceilings"
	"carrel/internal/decide"
	"carrel/internal/guard"
	"carrel/internal/history"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/policy"
	"carrel/internal/statedir"

	"golang.org/x/sys/unix"
)

// History is the history of one project, open.
type History struct {
	Project string
	Log     *history.Log
	Closed  []uint64 // steps that had been interrupted and were closed now
	Open    error    // why others could not be closed; nil where none is left

	Dir       string // where it is kept, whether it has begun or not
	Elsewhere string // where an older one is, if this has no steps; "" for nowhere
	OtherDisk bool   // it is on another file system than the project

	store    *history.Store
	records  string // of what runs have changed, see [changelog.Log]; "" for none
	used     func() // notes that the history is used
	release  func() // lets it be removed; nil where it is held by nothing
	req      Request
	prepared *decide.Decision
	roots    []string
	under    ceilings.Under

	ask    Sighted              // nil for callers who may know everything
	sights map[string]api.Sight // what it has answered
}

// May says why the ceilings do not let the caller do something with the history, nil
// where they do: policy.UndoPreview is to look, policy.UndoAll to change.
func (h *History) May(op string, need policy.UndoMode) error {
	if err := h.under.CheckUndo(op, need); err != nil {
		return err
	}
	if need != policy.UndoAll {
		return nil
	}
	return h.under.CheckTime(op, time.Now())
}

// Open opens the history of the project that a request is about. There may
// be none yet: its Log is empty then. What a killed run left open is closed.
func Open(req Request) (*History, error) {
	h, err := Find(req)
	if err != nil || h.store == nil {
		return h, err
	}
	h.Log, h.Closed, h.Open, err = h.store.RecoverAndSurvey([]string{h.Project})
	if errors.Is(h.Open, history.ErrBusy) {
		h.Open = nil // what runs now can wait for it
	}
	if err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// Find opens the history as it is: nothing is closed, and its Log is empty.
func Find(req Request) (*History, error) {
	at, err := decide.LocateHistory(req)
	if err != nil {
		return nil, err
	}
	h := &History{Project: at.Project, Log: &history.Log{}, Dir: at.Dir, OtherDisk: !sameDisk(at.Dir, at.Project),
		records: at.Records, used: at.Used, under: at.Under, req: req}
	if err := h.May("history", policy.UndoPreview); err != nil {
		return nil, err
	}
	if at.State != nil && at.State.Has(statedir.ProjectID(h.Project)) { // else there is nothing that could be removed
		h.release, err = at.State.Hold(h.Project)
		if err != nil && !errors.Is(err, os.ErrPermission) && !errors.Is(err, unix.EROFS) {
			return nil, fmt.Errorf("keeping the history from being removed: %w", err)
		}
	}
	if at.State != nil && !hasNames(h.Dir+"/journal") {
		h.Elsewhere = at.State.OtherHistory(h.Project, h.Dir)
	}
	if _, err := os.Lstat(h.Dir); errors.Is(err, os.ErrNotExist) {
		return h, nil
	}
	if h.store, err = history.OpenToRead(h.Dir); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// hasNames reports whether there is anything in a directory.
func hasNames(dir string) bool {
	d, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer d.Close()
	names, _ := d.Readdirnames(1)
	return len(names) > 0
}

// sameDisk says whether two places, or what will hold them, are on one file system.
func sameDisk(a, b string) bool {
	var x, y unix.Stat_t
	for a != "/" && unix.Lstat(a, &x) != nil {
		a = filepath.Dir(a)
	}
	return unix.Stat(b, &y) == nil && x.Dev == y.Dev
}

// SoFar looks at what a step that is still open has come to by now; see
// [history.SoFar].
func (h *History) SoFar(s *steplog.Step) error { return h.Redacted(history.SoFar(h.Log, s)) }

// Close lets go of it.
func (h *History) Close() {
	if h.store != nil {
		h.store.Close()
	}
	if h.release != nil {
		h.release()
	}
}

// complete fills in what the policy says: where changes may be made, and which.
func (h *History) complete(req Request, r *history.Request) error {
	if err := h.decided(req); err != nil {
		return err
	}
	if h.Open != nil { // an undo may have been about more than the project
		closed, err := h.store.Recover(h.roots)
		if err != nil {
			return err
		}
		h.Open = nil
		return fmt.Errorf("what had been interrupted was finished first (steps %d); look again", closed)
	}
	c := h.prepared.Guards(nil)
	c.Restoring, c.Exactly = true, h.exact(r)
	judge := restorer{guard.New(c), c}
	r.Roots = h.roots
	r.Allow = h.mayRestore(judge.restores)
	return nil
}

// decided has the policy decided, once.
func (h *History) decided(req Request) error {
	if h.prepared != nil {
		return nil
	}
	req.Restores = true
	p, err := decide.Prepare(req)
	if err == nil {
		err = p.Preview()
	}
	if err == nil {
		h.prepared, h.roots = p, p.Plan.Roots
	}
	return err
}

// exact says whether a request goes back, or forward, to what the whole project was: no
// step in between stays as it is, and no path is left out.
func (h *History) exact(r *history.Request) bool {
	if r.Mode != journal.Abort || r.Paths != nil || len(r.Steps) == 0 {
		return false
	}
	oldest := slices.Min(r.Steps)
	return !slices.ContainsFunc(h.Log.Steps, func(s *steplog.Step) bool {
		again := s.Begin.Kind == journal.StepRedo && slices.ContainsFunc(h.Log.Steps, func(u *steplog.Step) bool {
			return u.Number > oldest && u.UndoneBy == s.Number // both together changed nothing
		})
		stays := s.Begin.Kind != journal.StepUndo && !again && s.UndoneBy == 0 && !slices.Contains(r.Steps, s.Number)
		return s.Number > oldest && stays && (len(s.Pres()) > 0 || len(s.Posts()) > 0)
	})
}

// maxRestored bounds what is read to vet what an undo restores, in bytes.
const maxRestored = 1 << 20

// restorer decides on what an undo does.
type restorer struct {
	*guard.Guard
	c guard.Config
}

// restores decides on what an undo is about to make, as on a change from inside.
func (d restorer) restores(r *history.Restoration) error {
	ch := &broker.Change{Op: broker.OpCreate, Path: r.Path, Dir: -1, ToDir: -1}
	switch {
	case r.Op == history.Content:
		ch.Op, ch.Kind = broker.OpOpen, broker.KindFile
	case r.State.Kind == journal.Dir:
		ch.Op = broker.OpMkdir
	case r.State.Kind == journal.Symlink:
		ch.Op, ch.Text = broker.OpSymlink, string(r.State.Target)
	}
	if r.Open {
		return d.restoresOpen(r.Path)
	}
	v := d.Decide(ch)
	if v.Allowed && v.Vet != nil && !d.c.Exactly {
		now, then, err := r.Contents(maxRestored)
		if err == nil {
			err = v.Vet(now, then)
		}
		if err != nil {
			return fmt.Errorf("%s: %w (%s); %s would allow it", v.Rule, err, v.Source, v.Hint)
		}
	}
	if !v.Allowed && (r.Op == history.Content || r.State.Kind == journal.File) {
		v = d.replaces(r, v)
	}
	if !v.Allowed {
		return fmt.Errorf("%s (%s); %s would allow it", v.Rule, v.Source, v.Hint)
	}
	d.Made(ch)
	return nil
}

// restoresOpen decides on what a step without walls is taken back to. It changed what
// is protected or hidden by its name alone, so its undo may; what a rule takes away
// stays away.
func (d restorer) restoresOpen(at string) error {
	l := d.c.Policy.Lookup(at)
	if l.Rule == nil || l.Rule.Source.Layer == policy.LayerDefault || l.Access == policy.Write && !l.Protected {
		return nil
	}
	return fmt.Errorf("%s of %s; leave out the rule to restore it", guard.RuleText(l.Rule), guard.SourceOf(l.Rule))
}

// replaces decides again where a name may be replaced and not written, if what is
// there now may become what the undo puts there.
func (d restorer) replaces(r *history.Restoration, refused broker.Verdict) broker.Verdict {
	v := d.Decide(&broker.Change{Op: broker.OpRename, Kind: broker.KindFile, Path: r.Path + ".lock", To: r.Path, Dir: -1, ToDir: -1})
	if !v.Allowed || v.Vet == nil {
		return refused
	}
	if d.c.Exactly {
		return v
	}
	now, then, err := r.Contents(maxRestored)
	if err == nil {
		err = v.Vet(now, then)
	}
	if err != nil {
		refused.Rule += ": " + err.Error()
		return refused
	}
	return v
}

// Preview says what an undo or redo would do.
func (h *History) Preview(req Request, r history.Request) (*history.Preview, error) {
	if err := h.complete(req, &r); err != nil {
		return nil, err
	}
	v, err := h.store.Preview(h.Log, r)
	return v, h.Redacted(err)
}

// Undo takes steps back, or makes them again.
func (h *History) Undo(req Request, r history.Request) (*history.Preview, error) {
	op := "undo"
	if r.Redo {
		op = "redo"
	}
	if err := h.May(op, policy.UndoAll); err != nil {
		return nil, err
	}
	if err := h.complete(req, &r); err != nil {
		return nil, err
	}
	h.used()
	v, err := h.store.Undo(h.Log, r)
	return v, h.Redacted(err)
}
