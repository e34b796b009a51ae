package history

import (
	"cmp"
	"slices"
	"strings"
)

// verb is what an action of an undo does. Each can be found done already.
type verb uint8

const (
	take    verb = iota + 1 // Path becomes the object
	put                     // the object becomes Path
	swap                    // Path and the object change places
	rewrite                 // the content of Path, which has other names, becomes the object's, and is kept as To
	empty                   // Path becomes an empty file
	mkdir
	rmdir
	symlink
	mknod
	meta  // mode, times, attributes, owner
	aside // Path gets the name State.Target: both are kept
	drop  // Path goes, which is a second name of something that stays
	link  // Path becomes a second name of State.Target
)

// action is one part of a plan. State is what is expected at Path where
// something is taken, and what is to be made of it elsewhere.
type action struct {
	Verb   verb   `cbor:"1,keyasint"`
	Path   Bytes  `cbor:"2,keyasint"`
	Object Object `cbor:"3,keyasint,omitempty"`
	State  State  `cbor:"4,keyasint,omitempty"`
	To     Object `cbor:"5,keyasint,omitempty"`
	Temp   Bytes  `cbor:"6,keyasint,omitempty"` // a name on the way between two file systems
	// Whole: what is taken is put back, and must be the same file then, as it has other names.
	Whole bool `cbor:"7,keyasint,omitempty"`
}

// parks says whether what is taken never leaves its file system: its root has it
// until it is put back.
func (a *action) parks() bool { return a.State.Kind == Dir || a.Whole }

// valid says whether an action is one that a plan can have: its second name is a
// name where one is made beside the path, and a path where one is looked for.
func (a *action) valid() bool {
	if a.Temp != "" && !isTemp(string(a.Temp)) {
		return false
	}
	switch a.Verb {
	case aside:
		n := string(a.State.Target)
		return n != "" && n != "." && n != ".." && !strings.ContainsAny(n, "/\x00")
	case link:
		return cleanPath(a.State.Target)
	}
	return a.Verb >= take && a.Verb <= link
}

// discards says whether doing or taking back an action removes a name.
func (a *action) discards() bool {
	switch a.Verb {
	case drop, empty, symlink, mknod, link:
		return len(a.Temp) > 0
	}
	return false
}

// Conflict is a path that is not as the step left it.
type Conflict struct {
	Path     string
	Expected State
	Found    State
	Step     uint64 // the later step that changed it, 0 for somebody outside
	Why      string // where it is something else
}

// Unrestorable is a path that an undo cannot bring back, or not wholly.
type Unrestorable struct {
	Path, Why string
}

// Plan is what taking one step back comes to.
type Plan struct {
	Step         *Step
	Restored     []string // will be as before: changed back, moved back, made again
	Removed      []string // made by the step, will go
	Unrestorable []Unrestorable

	actions []action
	pre     []Pre             // of the undo, as a step
	origins map[string]string // where what will be at a path is now
	paths   []string          // all that will be touched
	left    map[string]bool   // directories that go, unless somebody else has put something there
	parents map[string]State  // directories that something is changed in, as they were
}

// view is how a plan sees the present.
type view struct {
	fresh func() Object               // the next object of the undo's own segment
	found func(q *Post) (State, bool) // what is at a path now, and whether somebody else put it there
	kept  func(Object) (State, bool)  // what an object is now
	skip  func(path string) bool      // what is left alone
	aside func(path string) string    // the name that is given to what is in the way, "" for none
	fixed func(path string) bool      // a file that is a place itself: its directory is nobody's to change
}

// planner makes one plan.
type planner struct {
	*Plan
	view
	spared  spared
	posts   map[string]placed
	carried func(path string) string
	stays   map[ID]string     // files that keep a name, by what that will be
	returns map[string]bool   // origins to which the file itself comes back, as it has other names
	parked  map[string]Object // what is taken to be put back, by origin
	done    map[string]bool   // origins that are in their place
	brought map[Object]string
	links   []action // when all that they are names of is in its place
	swaps   []action
	at      map[string]int // of the undo's own pre, by path
	once    map[ID]Object  // what was in files of several names
}

// placed is what a plan has to know of a path that it has gone past.
type placed struct {
	kind   Kind
	mode   uint32
	origin Bytes
}

// planOf makes a plan for the present: what the step left, as it is now.
func planOf(s *Step, v view) *Plan {
	p := &planner{
		Plan: &Plan{Step: s, origins: make(map[string]string), left: make(map[string]bool)}, view: v,
		posts: make(map[string]placed, len(s.Posts())), stays: make(map[ID]string), returns: make(map[string]bool), parked: make(map[string]Object),
		spared: s.spares(), done: make(map[string]bool), brought: make(map[Object]string), once: make(map[ID]Object), at: make(map[string]int),
	}
	p.holdPairs()
	left := p.present()
	p.carried = carriers(left)
	p.findStays(left)
	slices.SortStableFunc(left, func(a, b Post) int { return cmp.Compare(depth(b.Path), depth(a.Path)) })
	for i := range left {
		p.clear(&left[i])
	}
	back := slices.DeleteFunc(slices.Clone(s.Pres()), func(b Pre) bool { return p.skip(string(b.Path)) || p.spared.found[string(b.Path)] })
	slices.SortStableFunc(back, func(a, b Pre) int { return cmp.Compare(depth(a.Path), depth(b.Path)) })
	for i := range back {
		b := &back[i]
		here := string(b.Path)
		if b.Lost == Ignored && b.State.Kind != File {
			b.Lost = "" // there is no content to it
		}
		if _, ok := p.at[here]; !ok {
			if b.State.Kind == Absent {
				continue // an undo found nothing there, and brought what it lies in
			}
			p.note(Pre{Path: b.Path})
			p.paths = append(p.paths, here)
		}
		if b.State.Kind != Absent && !p.done[here] {
			p.bring(b)
		}
	}
	p.actions = slices.Concat(p.actions, p.links, p.swaps)
	for i := range p.pre {
		if to, ok := p.once[p.pre[i].State.ID]; ok && p.pre[i].State.Kind == File {
			p.pre[i].Object = to
		}
	}
	p.settle(back)
	p.tellApart()
	p.tellAlone()
	return p.Plan
}

// present gives what the step left as it is now.
func (p *planner) present() []Post {
	left := make([]Post, 0, len(p.Step.Posts()))
	for _, q := range p.Step.posts {
		here := string(q.Path)
		if p.skip(here) || p.spared.left[here] {
			continue
		}
		found, changed := p.found(&q)
		if name := p.aside(here); name != "" && found.Kind != Absent && p.inTheWay(&q, &found) {
			p.actions = append(p.actions, action{Verb: aside, Path: q.Path, State: State{Kind: found.Kind, ID: found.ID, Target: Bytes(name)}})
			found = State{}
		}
		if found.Kind == Absent || changed && (found.Kind != q.State.Kind || found.ID != q.State.ID && q.Origin != q.Path) {
			q.Origin = ""
		}
		q.State = found
		p.posts[here] = placed{found.Kind, found.Mode, q.Origin}
		left = append(left, q)
	}
	return left
}

// inTheWay says whether something else comes to the place of what is there now:
// else that is only called as before, or gets its metadata back.
func (p *planner) inTheWay(q *Post, found *State) bool {
	was, _ := p.Step.PreOf(string(q.Origin))
	own := found.ID == q.State.ID || q.Origin == q.Path
	return len(q.Origin) == 0 || found.Kind != q.State.Kind || !own || was.Object != (Object{}) || was.Inode != (Object{})
}

// findStays finds the files that are only moved or changed, not taken.
func (p *planner) findStays(left []Post) {
	for i := range left {
		q := &left[i]
		if q.State.Kind != File || len(q.Origin) == 0 {
			continue
		}
		was, _ := p.Step.PreOf(string(q.Origin))
		if o := string(q.Origin); !rewritten(&q.State, &was) || several(&q.State, &was) || o == p.carried(string(q.Path)) {
			p.stays[q.State.ID] = o
			p.returns[o] = several(&q.State, &was)
		}
	}
}

// clear takes what the step left at a path out of the way, or finds that it can
// stay.
func (p *planner) clear(q *Post) {
	before, now := Pre{Path: q.Path, State: q.State}, string(q.Path)
	origin, was := string(q.Origin), Pre{}
	here, stays := now, false
	had, known := p.Step.PreOf(here)
	if origin != "" {
		was, _ = p.Step.PreOf(origin)
		if stays = p.carried(here) == origin; stays {
			here = origin // it will be, when what it lies in is back
			q.Path = q.Origin
		}
	}
	switch {
	case q.State.Kind == Absent:
	case stays:
		p.done[here] = true
		if was.Object != (Object{}) {
			p.brought[was.Object] = here
		}
		before.Object = p.change(q, &was)
		p.origins[here] = now
	case origin == "" && known && q.State.Kind == File && had.State.Kind == File && had.Object != (Object{}) && !several(&q.State, &had) && !p.returns[here] && p.stands(here):
		p.done[here] = true // replaced by another file, as editors save
		before.Object = had.Object
		p.swaps = append(p.swaps, action{Verb: swap, Path: q.Path, Object: had.Object, State: q.State})
	case q.State.Kind == Dir && origin == "":
		p.actions = append(p.actions, action{Verb: rmdir, Path: q.Path, State: q.State})
		p.left[here] = !known || had.State.Kind == Absent
	case origin == "" && q.State.Kind == File && p.stays[q.State.ID] != "":
		p.actions = append(p.actions, action{Verb: drop, Path: q.Path, State: q.State})
	default:
		if origin == "" && had.Within != nil && had.Within.State.ID == q.State.ID {
			p.within(q, had.Within)
		}
		o := p.fresh()
		p.actions = append(p.actions, action{Verb: take, Path: q.Path, Object: o, State: q.State, Whole: p.returns[origin]})
		switch {
		case origin != "" && several(&q.State, &was):
			p.parked[origin], p.origins[origin] = o, here
			before.Object = p.content(q.State.ID, origin, &was, q.State.Size)
		case origin != "" && !rewritten(&q.State, &was):
			p.parked[origin], p.origins[origin] = o, here
		case several(&q.State, &was):
			before.Inode = o
		default:
			before.Object = o
		}
	}
	if origin == "" && q.State.Kind != Absent && (!known || had.State.Kind == Absent) {
		p.Removed = append(p.Removed, now)
	}
	p.note(before)
	p.paths = append(p.paths, now, here)
}

// within gives a file that is about to be taken what was in it before it was
// brought here: other names have to see it.
func (p *planner) within(q *Post, was *Within) {
	if was.Object != (Object{}) {
		p.actions = append(p.actions, p.restore(q.State.ID, string(q.Path), was.Object)...)
	}
	p.actions = append(p.actions, action{Verb: meta, Path: q.Path, State: was.State})
	q.State.Size = -1 // it is what that makes of it
}

// stands says whether the directories on the way to a path stay where they are.
func (p *planner) stands(path string) bool {
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
		if q, ok := p.posts[path[:i]]; ok && (q.kind != Dir || string(q.origin) != path[:i]) {
			return false
		}
	}
	return true
}

// note keeps what will be written down of a path for who takes the undo back.
func (p *planner) note(before Pre) {
	p.at[string(before.Path)] = len(p.pre)
	p.pre = append(p.pre, before)
}

// several says whether a file has or had more names than one: then its content is
// changed in place, for all of them.
func several(now *State, was *Pre) bool {
	return now.Kind == File && (now.Links > 1 || was.State.Links > 1)
}

// change gives a file that is in its place its content back, and says where what
// it holds now will be.
func (p *planner) change(q *Post, was *Pre) Object {
	if q.State.Kind != File || was.State.Kind != File || was.Lost != "" {
		return Object{}
	}
	same := q.State.Size == was.State.Size && q.State.Mtime == was.State.Mtime
	switch {
	case same && (was.Object == (Object{}) || q.State.Ctime == was.State.Ctime):
		return Object{}
	case was.Object == (Object{}) && (was.State.Size > 0 || q.State.Size == 0):
		return Object{} // its metadata only
	case several(&q.State, was), p.fixed(string(q.Path)):
		return p.content(q.State.ID, string(q.Path), was, q.State.Size)
	case was.Object == (Object{}):
		to := p.fresh()
		p.swaps = append(p.swaps, action{Verb: rewrite, Path: q.Path, To: to, State: q.State})
		return to
	}
	p.swaps = append(p.swaps, action{Verb: swap, Path: q.Path, Object: was.Object, State: q.State})
	return was.Object
}

// content gives a file of several names its content back, once; now is its size.
func (p *planner) content(id ID, path string, was *Pre, now int64) Object {
	if was.Object == (Object{}) && (was.State.Size > 0 || now == 0) {
		return Object{}
	}
	p.swaps = append(p.swaps, p.restore(id, path, was.Object)...)
	return p.once[id]
}

func (p *planner) restore(id ID, path string, object Object) []action {
	if _, again := p.once[id]; again {
		return nil
	}
	to := p.fresh()
	p.once[id] = to
	return []action{{Verb: rewrite, Path: Bytes(path), Object: object, To: to, State: State{Kind: File, ID: id}}}
}

// rewritten says whether a file that was moved holds something else than before.
func rewritten(now *State, was *Pre) bool {
	return now.Kind == File && (was.Object != (Object{}) || was.State.Size == 0 && now.Size > 0)
}

// bring puts back what the step took away.
func (p *planner) bring(b *Pre) {
	a := action{Path: b.Path, State: b.State}
	file := b.State.Kind == File
	switch {
	case p.parked[string(b.Path)] != (Object{}):
		a.Verb, a.Object, a.State.Size = put, p.parked[string(b.Path)], -1
		a.Whole = p.returns[string(b.Path)]
	case file && b.Inode != (Object{}):
		a.Verb, a.Object, a.State.Size = put, b.Inode, -1 // whatever is in it now
		now, ok := p.kept(b.Inode)
		replaced := p.content(b.State.ID, string(b.Path), b, now.Size)
		if ok {
			p.pre[p.at[string(b.Path)]].Within = &Within{State: now, Object: replaced}
		}
	case b.Lost != "":
		p.Unrestorable = append(p.Unrestorable, Unrestorable{string(b.Path), b.Lost})
		return
	case file && b.Object != (Object{}) && p.brought[b.Object] != "":
		a.Verb, a.State.Target = link, Bytes(p.brought[b.Object])
	case file && b.State.Links > 1 && p.stays[b.State.ID] != "": // which gets its content back
		a.Verb, a.State.Target = link, Bytes(p.stays[b.State.ID])
		if b.Object != (Object{}) { // also where the step met that name only after it had written to the file
			p.swaps = append(p.swaps, p.restore(b.State.ID, p.stays[b.State.ID], b.Object)...)
		}
	case file && b.Object != (Object{}):
		a.Verb, a.Object = put, b.Object
		p.brought[b.Object] = string(b.Path)
	case file && p.stays[b.State.ID] != "":
		a.Verb, a.State.Target = link, Bytes(p.stays[b.State.ID])
	case file && b.State.Size == 0:
		a.Verb = empty
	case file:
		p.Unrestorable = append(p.Unrestorable, Unrestorable{string(b.Path), "its content was not kept"})
		return
	case b.State.Kind == Dir:
		a.Verb = mkdir
	case b.State.Kind == Symlink:
		a.Verb = symlink
	case b.State.Kind == FIFO, b.State.Kind == Socket:
		a.Verb = mknod
	default:
		p.Unrestorable = append(p.Unrestorable, Unrestorable{string(b.Path), "devices are not made"})
		return
	}
	if a.Verb == link {
		p.links = append(p.links, a)
		return
	}
	p.actions = append(p.actions, a)
}

// settle gives everything its metadata, directories after what is in them.
func (p *planner) settle(back []Pre) {
	lost := make(map[string]bool)
	for _, u := range p.Unrestorable {
		lost[u.Path] = true
	}
	for i := len(back) - 1; i >= 0; i-- {
		b := &back[i]
		if b.State.Kind == Absent || lost[string(b.Path)] {
			continue
		}
		if b.Lost != "" {
			p.Unrestorable = append(p.Unrestorable, Unrestorable{string(b.Path), b.Lost})
			continue
		}
		q, ok := p.posts[string(b.Path)]
		p.actions = append(p.actions, action{Verb: meta, Path: b.Path, State: b.State})
		if b.State.Kind != Dir || !ok || q.origin != b.Path || b.State.Mode != q.mode {
			p.Restored = append(p.Restored, string(b.Path))
		}
	}
	slices.Sort(p.Restored)
	slices.Sort(p.Removed)
}

// tellApart lists what comes back as a file of its own, though it was one of
// several names of one that somebody else still has: a store on another file
// system keeps only a copy.
func (p *planner) tellApart() {
	names := make(map[ID]uint32)
	for i := range p.Step.Pres() {
		b := &p.Step.pres[i]
		if b.State.Kind == File && (b.Object != (Object{}) || b.Inode != (Object{})) {
			names[b.State.ID]++
		}
	}
	for i := range p.actions {
		a := &p.actions[i]
		if a.Verb == put && a.State.Size >= 0 && a.State.Kind == File && a.State.Links > names[a.State.ID] {
			p.Unrestorable = append(p.Unrestorable, Unrestorable{string(a.Path), "it comes back as a file of its own: it had other names"})
		}
	}
}

func depth(path Bytes) int { return strings.Count(string(path), "/") }

// tempPrefix begins the names that an undo gives for a moment.
const tempPrefix = ".carrel-"

func isTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && !strings.ContainsAny(name, "/\x00")
}
