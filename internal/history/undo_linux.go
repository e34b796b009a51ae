package history

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// undo is one request under way.
type undo struct {
	*Store
	log     *Log
	req     Request
	w       *Writer
	steps   []*Step
	set     map[uint64]bool
	next    uint64
	roots   []root
	did     []did
	step    *Step
	resumed bool               // after a crash: some of it is done
	paths   map[*Step][]string // of the request, with the other names of what a step renamed
	now     map[string]State   // what the steps of this request left
	ignored map[string]bool    // what steps left that no undo takes away; nil before somebody asks
}

func (s *Store) newUndo(l *Log, req Request) (*undo, error) {
	u := &undo{Store: s, log: l, req: req, set: make(map[uint64]bool), now: make(map[string]State), paths: make(map[*Step][]string)}
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
		now := l.live(st)
		if req.Redo {
			if st.Begin.Kind != StepUndo || st.UndoneBy != 0 {
				return nil, fmt.Errorf("step %d is no undo that can be taken back", n)
			}
			now = st
		}
		if now == nil {
			return nil, fmt.Errorf("step %d has been taken back already", n)
		}
		if now.read(); now.Damaged != "" {
			return nil, fmt.Errorf("step %d cannot be taken back: %s", n, now.Damaged)
		}
		u.steps = append(u.steps, now)
		u.set[now.Number] = true
	}
	slices.SortFunc(u.steps, func(a, b *Step) int { return cmp.Compare(b.Number, a.Number) })
	u.steps = slices.Compact(u.steps)
	return u, nil
}

// Preview says what a request would do, and what is in its way, also with the error
// of what it is not allowed to do. Nothing is changed.
func (s *Store) Preview(l *Log, req Request) (*Preview, error) {
	u, err := s.newUndo(l, req)
	if err != nil {
		return nil, err
	}
	roots, err := openRoots(req.Roots)
	defer closeRoots(roots)
	if err != nil {
		return nil, err
	}
	v, err := u.preview(roots)
	if err == nil {
		err = u.allowed(roots, v)
	}
	return v, err
}

func (u *undo) preview(roots []root) (*Preview, error) {
	v := &Preview{}
	for i, st := range u.steps {
		found, conflicts := u.present(roots, st, u.steps[:i])
		plan := func() *Plan {
			return u.plan(st, func() Object { u.next++; return Object{"0000000000000000-preview", u.next} }, found, conflicts)
		}
		p := plan()
		resident := u.residents(roots, p, found, u.steps[:i])
		occupied := u.occupied(roots, p, u.steps[:i])
		conflicts = append(conflicts, occupied...)
		p = u.around(p, occupied, plan)
		conflicts = append(conflicts, resident...)
		v.Plans = append(v.Plans, p)
		v.Conflicts = append(v.Conflicts, conflicts...)
	}
	u.next = 0
	return v, u.log.unreadable
}

// view is how the plan of a request sees the present.
func (u *undo) view(st *Step, fresh func() Object, found *found, conflicts []Conflict, gone map[string]bool) view {
	at := make(map[string]bool, len(conflicts))
	for _, c := range conflicts {
		at[c.Path] = true
	}
	return view{
		fresh: fresh,
		found: func(q *Post) (State, bool) { return found.at(string(q.Path)), at[string(q.Path)] },
		kept:  u.keptNow,
		fixed: func(path string) bool { return slices.Contains(u.req.Roots, path) },
		skip: func(path string) bool {
			return u.req.Mode == Skip && at[path] || gone[path] || !u.asked(st, path)
		},
		aside: func(path string) string {
			if u.req.Mode != KeepBoth || !at[path] {
				return ""
			}
			return beside(path[strings.LastIndexByte(path, '/')+1:], 1)
		},
	}
}

// keptNow looks at an object.
func (u *undo) keptNow(o Object) (State, bool) {
	dir, err := u.objectsOf(o.Segment, false)
	if err != nil {
		return State{}, false
	}
	defer unix.Close(dir)
	st, err := stateAt(dir, objectName(o.Number), withXattrs)
	return st, err == nil && st.Kind != Absent
}

// present looks at everything that a step left, and compares.
func (u *undo) present(roots []root, st *Step, later []*Step) (*found, []Conflict) {
	f := &found{st, make([]State, len(st.Posts()))}
	var out []Conflict
	spared := st.spares()
	for i := range st.Posts() {
		q := &st.posts[i]
		at := string(q.Path)
		if !u.asked(st, at) || spared.left[at] {
			continue
		}
		want, by, recorded := u.log.expected(st, q, u.set)
		if now, ok := u.now[at]; ok {
			want, by, recorded = now, 0, nil
		}
		beside, together := u.log.beside(st, q, u.set)
		c := Conflict{Path: at, Expected: want, Step: by}
		var err error
		if recorded != nil && len(later) > 0 {
			f.states[i] = recorded.State
		} else if f.states[i], err = lookIn(roots, u.log.located(at, later)); err != nil {
			c.Why = err.Error()
			out = append(out, c)
			continue
		}
		if c.Found = f.states[i]; c.Found.Links > 1 || want.Links > 1 {
			for _, e := range later { // by another name, of a file that has several
				if pre := e.preOfFile(c.Found.ID); pre != nil {
					c.Found = pre.State
				}
			}
		}
		switch {
		case by != 0:
			c.Why = fmt.Sprintf("step %d changed it afterwards", by)
		case beside != 0:
			c.Step, c.Why = beside, fmt.Sprintf("step %d changed it at the same time", beside)
		case recorded != nil && together:
			continue
		case u.isLeft(roots, q, &c, recorded, later):
			continue
		case q.Uncertain:
			c.Why = "the run was killed, and this may have been changed by somebody else afterwards"
		case recorded != nil:
			c.Why = "it was changed between the steps"
		}
		out = append(out, c)
	}
	return f, out
}

// found is what there is at the paths that a step left something at.
type found struct {
	step   *Step
	states []State // in the order of its Posts
}

func (f *found) at(path string) State {
	i, ok := f.step.post[path]
	if !ok {
		return State{}
	}
	return f.states[i]
}

// isLeft says whether what is found at a path, or what a later step found there, is
// what was expected.
func (u *undo) isLeft(roots []root, q *Post, c *Conflict, recorded *Pre, later []*Step) bool {
	switch {
	case asLeft(&c.Found, &c.Expected):
		return !q.Uncertain || c.Found.Kind != File || c.Found.Ctime != q.State.Ctime
	case q.Uncertain:
		return false
	case recorded != nil:
		return u.keptAsLeft(recorded, &c.Expected)
	}
	return contentAsLeft(roots, u.log.located(c.Path, later), &c.Found, &c.Expected)
}

// Undo does what a request says, or nothing: an error that comes in the middle
// takes back what was done. Each step is taken back by a step of its own.
func (s *Store) Undo(l *Log, req Request) (*Preview, error) {
	if err := s.alone(); err != nil {
		return nil, err
	}
	s.unlock() // a writer takes it in the next moment
	u, err := s.newUndo(l, req)
	if err != nil {
		return nil, err
	}
	roots, err := openRoots(req.Roots)
	defer closeRoots(roots)
	if err != nil {
		return nil, err
	}
	v, err := u.preview(roots)
	if err != nil {
		return nil, err
	}
	if len(v.Conflicts) > 0 && req.Mode == Abort {
		return v, &ConflictError{v.Conflicts}
	}
	if err := u.allowed(roots, v); err != nil {
		return v, err
	}
	if u.w, err = s.NewWriter("undo", req.Roots); err != nil {
		return v, err
	}
	defer u.w.Close()
	u.w.ignored = nil                 // whatever it takes is kept
	if err := s.alone(); err != nil { // an upgrade: only if nobody else shares it
		return v, err
	}
	if n, err := s.stamp(); err != nil || n != l.counted+2 { // the writer took one
		return v, errors.Join(err, ErrChanged)
	}
	u.roots = roots
	return v, u.all(v)
}

// all takes the steps back, newest first.
func (u *undo) all(v *Preview) error {
	for _, p := range v.Plans { // made again when it comes to each, and these can be large
		p.actions, p.pre, p.paths, p.origins, p.parents = nil, nil, nil, nil, nil
	}
	for i, st := range u.steps {
		p, err := u.one(st, u.steps[i+1:])
		if errors.Is(err, errUnfinished) {
			return err
		}
		if err != nil {
			return errors.Join(err, u.backAgain())
		}
		v.Plans[i] = p
	}
	return nil
}

// errUnfinished says that an undo has stopped where only going on is possible.
var errUnfinished = errors.New("this is not finished; the next command goes on with it")

// backAgain takes back what was done of a request that cannot be finished. Each
// step of it is open again while that goes on: whoever comes after a crash makes
// it as it was, and not half of it.
func (u *undo) backAgain() error {
	for len(u.did) > 0 {
		d := u.did[len(u.did)-1]
		u.did = u.did[:len(u.did)-1]
		u.step = d.plan.Step
		err := u.w.again(d.number)
		if err == nil {
			err = u.reverse(d.plan, len(d.plan.actions), false)
		}
		if err == nil {
			err = u.w.abort(d.plan)
		}
		if err != nil {
			u.w.step, u.w.unfinished = 0, true
			return fmt.Errorf("taking back what was restored already: %w; %w", err, errUnfinished)
		}
	}
	return nil
}

// one takes back one step: plan, journal, do. rest comes after it.
func (u *undo) one(st *Step, rest []*Step) (*Plan, error) {
	u.step = st
	found, conflicts := u.present(u.roots, st, nil)
	if len(conflicts) > 0 && u.req.Mode == Abort {
		return nil, &ConflictError{conflicts}
	}
	plan := func() *Plan {
		return u.plan(st, func() Object { u.w.next++; return Object{u.w.segment, u.w.next} }, found, conflicts)
	}
	p := plan()
	occupied := u.occupied(u.roots, p, nil)
	if conflicts = append(conflicts, occupied...); len(occupied) > 0 && u.req.Mode == Abort {
		return nil, &ConflictError{conflicts}
	}
	p = u.around(p, occupied, plan)
	if err := u.keepParents(p); err != nil {
		return nil, err
	}
	begin := u.begin(st, rest)
	begin.Partly = u.req.Paths != nil || u.req.Mode == Skip && len(conflicts) > 0
	number, err := u.w.Begin(begin)
	if err != nil {
		return nil, err
	}
	if err := u.journal(p); err != nil {
		return nil, errors.Join(fmt.Errorf("writing down what is about to be restored: %w", err), u.w.abort(nil))
	}
	if done, err := u.run(p.actions); err != nil {
		if e := u.reverse(p, done, true); e != nil {
			u.w.step, u.w.unfinished = 0, true
			return nil, fmt.Errorf("%w; %w; %w", err, e, errUnfinished)
		}
		return nil, errors.Join(err, u.w.abort(p))
	}
	u.carryBack(st)
	now := u.now
	if len(rest) == 0 {
		now = nil // nobody will ask
	}
	if err := u.w.endUndo(p, now, nil); err != nil {
		u.w.step, u.w.unfinished = 0, true
		return nil, fmt.Errorf("writing down what was restored: %w; %w", err, errUnfinished)
	}
	u.grown(p.growth())
	u.did = append(u.did, did{p, number})
	return p, nil
}

// carryBack gives what the steps before left its name after directories on the way
// were moved back. What is known below something else is of no use then:
// another directory may have come back there, with what is in it.
func (u *undo) carryBack(st *Step) {
	carried := carriers(st.Posts())
	moved := make(map[string]State)
	for at, state := range u.now {
		to := carried(at)
		if to == at && st.blocks(at) {
			to = ""
		}
		if to != at {
			delete(u.now, at)
		}
		if to != "" && to != at {
			moved[to] = state
		}
	}
	maps.Copy(u.now, moved)
}

func (u *undo) begin(st *Step, rest []*Step) Begin {
	b := Begin{Kind: StepUndo, Of: []uint64{st.Number}, Mode: u.req.Mode, Open: st.Begin.Open}
	if u.req.Redo {
		b.Kind = StepRedo
	}
	for _, r := range rest {
		b.Rest = append(b.Rest, r.Number)
	}
	for _, p := range u.req.Paths {
		b.Paths = append(b.Paths, Bytes(p))
	}
	return b
}

// did is a step of a request that is done.
type did struct {
	plan   *Plan
	number uint64
}

// keepParents notes the directories that a plan changes something in. Those whose
// names do not change get their times and mode back by actions of their own: what
// happens to a file in them changes those for a moment.
func (u *undo) keepParents(p *Plan) error {
	known := make(map[string]bool)
	for i := range p.actions {
		if a := &p.actions[i]; a.Verb == meta {
			known[string(a.Path)] = true
		}
	}
	p.parents = make(map[string]State)
	for i := range p.actions { // and not what is added meanwhile
		a := &p.actions[i]
		at := strings.LastIndexByte(string(a.Path), '/')
		if at <= 0 || a.Verb == meta || isRoot(u.roots, string(a.Path)) {
			continue
		}
		dir := string(a.Path[:at])
		st, seen := p.parents[dir]
		if !seen {
			var err error
			if st, err = lookIn(u.roots, dir); err != nil {
				return fmt.Errorf("looking at %q: %w", dir, err)
			}
			p.parents[dir] = st
		}
		if st.Kind == Dir && (a.Verb == swap || a.Verb == rewrite) && !known[dir] {
			known[dir] = true
			p.actions = append(p.actions, action{Verb: meta, Path: Bytes(dir), State: st})
		}
	}
	return nil
}

// journal writes the plan down, so that whoever comes after a crash can go on.
func (u *undo) journal(p *Plan) error {
	u.w.mu.Lock()
	defer u.w.mu.Unlock()
	becomes := make(map[string]string, len(p.origins))
	for to, now := range p.origins {
		becomes[now] = to
	}
	for i := range p.pre {
		if to, ok := becomes[string(p.pre[i].Path)]; ok && p.pre[i].State.Kind != Absent {
			p.pre[i].Becomes = Bytes(to)
		}
		if err := u.w.write(&Record{Pre: &p.pre[i]}); err != nil {
			return err
		}
	}
	temps := make(map[Object]Bytes)
	for i := range p.actions {
		switch a := &p.actions[i]; {
		case a.Object != (Object{}):
			if temps[a.Object] == "" { // what is taken and put back has one name on the way
				temps[a.Object] = Bytes(tempName())
			}
			a.Temp = temps[a.Object]
		case a.Verb != meta:
			a.Temp = Bytes(tempName())
		}
		if err := u.w.write(&Record{Do: &p.actions[i]}); err != nil {
			return err
		}
	}
	if err := u.w.write(&Record{Ready: len(p.actions)}); err != nil {
		return err
	}
	return u.w.syncJournal()
}

func (u *undo) run(actions []action) (int, error) {
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
