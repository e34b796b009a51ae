package undo

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/history/disk"
	"carrel/internal/history/graph"
	"carrel/internal/history/journal"
	"carrel/internal/history/relate"
	"carrel/internal/history/steplog"
	"carrel/internal/history/store"
	"carrel/internal/history/writer"
)

// undo is one request under way.
type undo struct {
	reverser
	steps    []*steplog.Step // newest first
	set      map[uint64]bool
	next     uint64
	did      []did
	step     *steplog.Step
	losing   bool  // something does not come back
	refused  error // nothing is done, as no mode says what is to become of what is in the way
	known    *relate.Relations
	changed  map[uint64][]graph.Transition // by step
	repos    *repositories
	only     *decided            // on the only step of the request, as it was looked at first
	left     map[graph.Node]bool // died in this request and live on by names that are not known
	whole    whole
	promised *graph.Decision // on all steps together, before any is taken back
}

// actor carries out the actions of a plan.
type actor struct {
	*store.Store
	log     *store.Log
	req     Request
	w       *writer.UndoWriter
	roots   []disk.Root
	resumed bool                // after a crash: some of it is done
	alone   map[string]bool     // what steps left that no undo takes away; nil before it is asked for
	parted  map[journal.ID]bool // see moveOut: whether it has other names
	changes map[journal.ID]bool // resumed: what the plan rewrites; it may have begun to
	placed  map[string]int64    // the time of what was moved to a path
}

// resumer goes on with a plan after a crash.
type resumer struct {
	actor
	of *steplog.Step // that the plan takes back
}

// reverser takes actions back that an actor has carried out, where a later one fails.
type reverser struct {
	actor
	began   int64    // the first change, in nanoseconds since 1970
	besides []string // see editedMeanwhile
}

func newUndo(s *store.Store, l *store.Log, req Request) (*undo, error) {
	u := &undo{reverser: reverser{actor: actor{Store: s, log: l, req: req}}, set: make(map[uint64]bool)}
	for _, n := range req.Steps {
		st := l.Step(n)
		if st == nil {
			return nil, fmt.Errorf("step %d: there is none of this number", n)
		}
		if st.Damaged != "" {
			return nil, fmt.Errorf("step %d cannot be taken back: %s", n, st.Damaged)
		}
		if st.Open() {
			return nil, fmt.Errorf("step %d is not over", n)
		}
		now := l.Live(st)
		if req.Redo {
			if st.Begin.Kind != journal.StepUndo || st.UndoneBy != 0 {
				return nil, fmt.Errorf("step %d is no undo that can be taken back", n)
			}
			now = []*steplog.Step{st}
		}
		if len(now) == 0 {
			return nil, fmt.Errorf("step %d has been taken back already", n)
		}
		for _, of := range now {
			if of.Read(); of.Damaged != "" {
				return nil, fmt.Errorf("step %d cannot be taken back: %s", n, of.Damaged)
			}
			u.steps = append(u.steps, of)
			u.set[of.Number] = true
		}
	}
	slices.SortFunc(u.steps, func(a, b *steplog.Step) int { return cmp.Compare(b.Number, a.Number) })
	u.steps = slices.Compact(u.steps)
	return u, u.relate()
}

// PreviewOf says what a request would do, and what is in its way, also with the error
// of what it is not allowed to do. Nothing is changed.
func PreviewOf(s *store.Store, l *store.Log, req Request) (*Preview, error) {
	u, err := newUndo(s, l, req)
	if err != nil {
		return nil, err
	}
	roots, err := disk.OpenRoots(req.Roots)
	defer disk.CloseRoots(roots)
	if err != nil {
		return nil, err
	}
	v, err := u.preview(roots)
	if err != nil {
		return v, err
	}
	p := v.Plan
	if u.refused != nil { // what is not allowed is told beside what is in the way
		d, err := u.decideAs(journal.Force, roots, u.steps, u.forPreview)
		if err != nil {
			return v, err
		}
		p = d.plan
	}
	return v, u.allowedPlan(roots, p)
}

// forPreview names objects that are not made before [Plan.storeIn] gives them another.
func (u *undo) forPreview() journal.Object {
	u.next++
	return journal.Object{Segment: previewed, Number: u.next}
}

// preview decides on all steps of a request at once.
func (u *undo) preview(roots []disk.Root) (*Preview, error) {
	d, err := u.decide(roots, u.steps, u.forPreview)
	if err != nil {
		return nil, err
	}
	if d.Refused {
		u.refused = refusal(d)
	}
	v := &Preview{Plan: d.plan, Conflicts: d.conflicts, Refused: u.refused}
	for _, st := range u.steps {
		v.Steps = append(v.Steps, st.Number)
	}
	u.whole = wholeOf(d.Decision)
	u.promised = d.Decision
	if len(u.steps) == 1 && !d.Refused {
		u.only = d
		return v, nil
	}
	return v, u.relate() // what was looked at is no part of what the steps say
}

// Do does what a request says, or nothing: an error that comes in the middle
// takes back what was done. Each step is taken back by a step of its own.
func Do(s *store.Store, l *store.Log, req Request) (*Preview, error) {
	if err := s.LockExclusive(); err != nil {
		return nil, err
	}
	s.Unlock() // a writer takes it in the next moment
	u, err := newUndo(s, l, req)
	if err != nil {
		return nil, err
	}
	roots, err := disk.OpenRoots(req.Roots)
	defer disk.CloseRoots(roots)
	if err != nil {
		return nil, err
	}
	v, err := u.preview(roots)
	if err != nil || u.refused != nil {
		if disturbed(s, l) { // what is in the way may be what another undo is at
			return nil, store.ErrChanged
		}
		return v, cmp.Or(err, u.refused)
	}
	if err := u.allowedPlan(roots, v.Plan); err != nil {
		return v, err
	}
	u.losing = v.incomplete()
	if u.w, err = writer.NewUndo(s, req.Roots); err != nil {
		return v, err
	}
	defer u.w.Close()
	if err := s.LockExclusive(); err != nil { // an upgrade: only if no other process shares it
		return v, err
	}
	if n, err := s.Stamp(); err != nil || n != l.Counted+2 { // the writer took one
		return v, errors.Join(err, store.ErrChanged)
	}
	u.roots = roots
	return v, u.all()
}

// disturbed reports whether another process changes the history, or has since it was read.
func disturbed(s *store.Store, l *store.Log) bool {
	if s.LockExclusive() != nil {
		return true
	}
	defer s.Unlock()
	n, err := s.LastStamp()
	return err == nil && n > l.Counted
}

// all takes the steps back, newest first, and each to what it had found: so every state
// in between is one that there was, and a crash leaves one of those.
func (u *undo) all() error {
	for i, st := range u.steps {
		err := u.one(st, u.steps[i+1:])
		if errors.Is(err, ErrUnfinished) {
			return u.withBesides(err)
		}
		if err != nil {
			return u.withBesides(errors.Join(err, u.backAgain()))
		}
	}
	if len(u.steps) > 1 && u.req.Mode != journal.Skip {
		if err := u.arrived(); err != nil {
			return u.withBesides(errors.Join(err, u.backAgain()))
		}
	}
	return nil
}

// alike reports whether a content has the size and the time of change that it is to
// have: an undo sets these, and the time of change of its inode is of the undo. What is to
// be gone has no name here. No undo gives a set-id bit back.
func (p *present) alike(k graph.Key, is, wanted graph.Value) bool {
	if k.Part == graph.Meta && k.Name == relate.ModePart {
		found, err := strconv.ParseUint(is.S, 8, 32)
		want, other := strconv.ParseUint(wanted.S, 8, 32)
		return err == nil && other == nil && found&^disk.SetIDs == want&^disk.SetIDs
	}
	switch {
	case k.Part != graph.Content || is.N == graph.Dead:
		return false
	case wanted.N == graph.Dead: // it may live on by names elsewhere
		return len(p.now(k.Node).names) == 0
	}
	found, want := &p.Versions[is.N].State, &p.Versions[wanted.N].State
	return found.Size == want.Size && found.Mtime == want.Mtime
}

// livesOn reports whether a conflict is of a node that lives on by names that are not
// known, with what it was given before it lost the last one that is. The steps may want
// a name for it: that is a key of theirs.
func (u *undo) livesOn(c *graph.Conflict) bool {
	switch c.Part {
	case graph.Content:
		return c.Found.N == graph.Dead && u.left[c.Node]
	case graph.Entry:
		return c.Found.N == 0 && c.Derived && u.left[c.Wanted.N]
	}
	return false
}

// ErrUnfinished says that an undo has stopped where only going on is possible.
var ErrUnfinished = errors.New("this is not finished; the next command goes on with it")

// backAgain takes back what was done of a request that cannot be finished. Each
// step of it is open again while that goes on: whoever comes after a crash makes
// it as it was, and not half of it.
func (u *undo) backAgain() error {
	for len(u.did) > 0 {
		d := u.did[len(u.did)-1]
		u.did = u.did[:len(u.did)-1]
		u.step = d.plan.Step
		err := u.w.Again(d.number)
		if err == nil {
			err = u.reverse(d.plan, len(d.plan.records.Actions), false)
		}
		if err == nil {
			err = u.w.Abort(&d.plan.records)
		}
		if err != nil {
			u.w.LeaveOpen()
			return fmt.Errorf("taking back what was restored already: %w; %w", err, ErrUnfinished)
		}
	}
	return nil
}

// one takes back one step: plan, journal, do. rest comes after it.
func (u *undo) one(st *steplog.Step, rest []*steplog.Step) error {
	u.step = st
	p, err := u.planOf(st)
	if err != nil {
		return err
	}
	if err := u.allowedPlan(u.roots, p); err != nil {
		return err
	}
	if err := u.keepParents(p); err != nil {
		return err
	}
	begin := u.begin(st, rest)
	begin.Partly = u.req.Paths != nil || u.req.Mode == journal.Skip && p.skips || u.losing && p.incomplete()
	number, err := u.w.Begin(begin)
	if err != nil {
		return err
	}
	nameCopies(p.records.Actions)
	if err := u.w.WritePlan(&p.records); err != nil {
		return errors.Join(fmt.Errorf("writing down what is about to be restored: %w", err), u.w.Abort(nil))
	}
	u.starts()
	if done, err := u.run(p.records.Actions); err != nil {
		if e := u.reverse(p, done, true); e != nil {
			u.w.LeaveOpen()
			return fmt.Errorf("%w; %w; %w", err, e, ErrUnfinished)
		}
		return errors.Join(err, u.w.Abort(&p.records))
	}
	if err := u.w.EndUndo(&p.records, nil); err != nil {
		u.w.LeaveOpen()
		return fmt.Errorf("writing down what was restored: %w; %w", err, ErrUnfinished)
	}
	u.AddEstimate(p.growth())
	u.did = append(u.did, did{p, number})
	if u.known != nil {
		u.leave()
		u.known.Follow(undoStep(number, begin, p))
	}
	return nil
}

// leave notes which nodes live on somewhere, though the store on another file system took
// their last name that is known.
func (u *undo) leave() {
	if u.left == nil {
		u.left = make(map[graph.Node]bool)
	}
	for id, more := range u.parted {
		if n := u.known.ByID[id]; n != 0 {
			u.left[n] = more
		}
	}
	clear(u.parted)
}

// planOf decides on one step. Of the only one that is done already, and its plan gets
// objects that can be made.
func (u *undo) planOf(st *steplog.Step) (*Plan, error) {
	if u.only != nil {
		p := u.only.plan
		p.storeIn(u.w.Segment(), u.w.Reserve(u.next))
		u.only, u.known, u.changed = nil, nil, nil // much, of a large step
		return p, nil
	}
	mode := u.req.Mode
	if mode == journal.Abort { // together nothing is in the way: what one step misses, another had made
		mode = journal.Skip
	}
	d, err := u.decideAs(mode, u.roots, []*steplog.Step{st}, u.w.NewObject)
	if err != nil {
		return nil, err
	}
	return d.plan, nil
}

// undoStep is an undo that is over, as it will be read.
func undoStep(number uint64, begin journal.Begin, p *Plan) *steplog.Step {
	return steplog.NewStep(number, begin, p.records.Pre, p.records.Posts, p.records.Beyond)
}

// refusal is the error of a decision to do nothing.
func refusal(d *decided) error {
	if len(d.conflicts) > 0 {
		return &ConflictError{d.conflicts}
	}
	return &UnrestorableError{d.plan.Unrestorable}
}

func (u *undo) begin(st *steplog.Step, rest []*steplog.Step) journal.Begin {
	b := journal.Begin{Kind: journal.StepUndo, Of: []uint64{st.Number}, Mode: u.req.Mode, Open: st.Begin.Open}
	if u.req.Redo {
		b.Kind = journal.StepRedo
	}
	for _, r := range rest {
		b.Rest = append(b.Rest, r.Number)
	}
	for _, p := range u.req.Paths {
		b.Paths = append(b.Paths, journal.Bytes(p))
	}
	return b
}

// did is a step of a request that is done.
type did struct {
	plan   *Plan
	number uint64
}

// keepParents notes the directories that a plan changes something in. Those whose
// names do not change, or did in no time, get their times and mode back by actions of their
// own: what happens in them changes those for a moment.
func (u *undo) keepParents(p *Plan) error {
	known := make(map[journal.ID]bool)
	for i := range p.records.Actions {
		if a := &p.records.Actions[i]; a.Verb == journal.SetMeta {
			known[a.State.ID] = true
		}
	}
	p.parents = make(map[string]journal.State)
	last := make(map[string]int) // of what may change such a directory
	for i := range p.records.Actions {
		a := &p.records.Actions[i]
		if a.Known.Dir == "" || a.Verb == journal.SetMeta || disk.IsRoot(u.roots, string(a.Path)) {
			continue
		}
		st, seen := p.parents[a.Known.Dir]
		if !seen {
			var err error
			if st, err = disk.LookIn(u.roots, a.Known.Dir); err != nil {
				return fmt.Errorf("looking at %q: %w", a.Known.Dir, err)
			}
			p.parents[a.Known.Dir] = st
		}
		if st.Kind == journal.Dir && (a.Verb == journal.Swap || a.Verb == journal.Rewrite || p.untimed[st.ID]) && !known[st.ID] {
			last[a.Known.Dir] = i
		}
	}
	if len(last) == 0 {
		return nil
	}
	with := make([]journal.Action, 0, len(p.records.Actions)+len(last))
	for i, a := range p.records.Actions {
		with = append(with, a)
		if n, is := last[a.Known.Dir]; is && n == i { // here: it may be moved later
			at := strings.LastIndexByte(string(a.Path), '/')
			with = append(with, journal.Action{Verb: journal.SetMeta, Path: a.Path[:at], State: p.parents[a.Known.Dir]})
		}
	}
	p.records.Actions = with
	return nil
}

// nameCopies gives the copies that actions make on their way names of their own. What is taken
// and put back has one name.
func nameCopies(actions []journal.Action) {
	temps := make(map[journal.Object]journal.Bytes)
	for i := range actions {
		switch a := &actions[i]; {
		case a.Object != (journal.Object{}):
			if temps[a.Object] == "" {
				temps[a.Object] = journal.Bytes(tempName())
			}
			a.Temp = temps[a.Object]
		case a.Verb != journal.SetMeta:
			a.Temp = journal.Bytes(tempName())
		}
	}
}

func (u *undo) run(actions []journal.Action) (int, error) {
	for i := range actions {
		if err := u.do(&actions[i]); err != nil {
			return i, fmt.Errorf("%q: %w", actions[i].Path, err)
		}
		if u.req.Progress != nil {
			u.req.Progress(i+1, len(actions))
		}
	}
	return len(actions), nil
}

// growth is by how much an undo makes the store larger, as far as its plan knows.
func (p *Plan) growth() (n int64) {
	for i := range p.records.Actions {
		a := &p.records.Actions[i]
		switch a.Verb {
		case journal.Take:
			n += max(0, a.State.Size)
		case journal.Put:
			n -= max(0, a.State.Size)
		case journal.Swap:
			was, _ := p.Step.PreOf(string(a.Path))
			n += a.State.Size - was.State.Size
		}
	}
	return n
}
