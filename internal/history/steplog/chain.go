package steplog

import (
	"cmp"
	"slices"
	"strings"

	"carrel/internal/history/journal"
)

// How steps follow each other: what one left is what the next found, and an undo
// gives back what was before. An undo itself is a step, and so is a redo.

// Live gives the steps of which an undo takes s back: s, or the redos that made its changes
// again, newest first. There are several where it was taken back in parts, and none
// where all of it is. An undo of the whole step also took back what earlier redos of
// parts had made again. A forced redo of a part is taken back by itself: it may have
// destroyed what other programs had written since the undo.
func (l *Log) Live(s *Step) []*Step {
	var out []*Step
	seen := make(map[*Step]bool)
	for todo := []*Step{s}; len(todo) > 0; todo = todo[1:] {
		switch s := todo[0]; {
		case seen[s]:
		case s.UndoneBy == 0:
			again := 0
			for _, forced := range s.forcedAgain() { // each is of another undo, so that this ends
				live := l.Live(forced)
				again += len(live)
				out = append(out, live...)
			}
			if again == 0 {
				out = append(out, s)
			}
		default:
			for _, undo := range s.takers {
				for _, redo := range undo.takers {
					if redo.Number > s.UndoneBy {
						todo = append(todo, redo)
					}
				}
			}
		}
		seen[todo[0]] = true
	}
	slices.SortFunc(out, func(a, b *Step) int { return cmp.Compare(b.Number, a.Number) })
	return out
}

// forcedAgain gives the forced redos of parts of a step.
func (s *Step) forcedAgain() []*Step {
	var out []*Step
	for _, undo := range s.takers {
		for _, redo := range undo.takers {
			if redo.Begin.Mode == journal.Force {
				out = append(out, redo)
			}
		}
	}
	return out
}

// Betweens are what other programs wrote during a step that it then destroyed. Where a
// forced undo did not put it beside and was taken back itself, it is as it was.
func (l *Log) Betweens(s *Step) []journal.Pre {
	if s.Begin.Kind != journal.StepRedo || len(s.Begin.Of) != 1 {
		return s.Between()
	}
	undo := l.Step(s.Begin.Of[0])
	if undo == nil || undo.Begin.Mode != journal.Force {
		return s.Between()
	}
	return l.First(s).Between()
}

// OneUndo says whether two steps are by one command that took one step of a run back: a step that
// was made again in parts is taken back in as many.
func (l *Log) OneUndo(a, b *Step) bool {
	undo := func(s *Step) bool { return s.Begin.Kind == journal.StepUndo }
	return undo(a) && undo(b) && a.Segment == b.Segment && l.First(a) == l.First(b)
}

// Undone says whether a step's changes are taken back.
func (l *Log) Undone(s *Step) bool { return len(l.Live(s)) == 0 }

// Changes are the steps that runs made, oldest first; undos and redos are not
// among them.
func (l *Log) Changes() []*Step {
	var out []*Step
	for _, s := range l.Steps {
		if s.Begin.Kind != journal.StepUndo && s.Begin.Kind != journal.StepRedo {
			out = append(out, s)
		}
	}
	return out
}

// Beside gives a step that changed a path at the same time as s, and cannot be
// told apart: one that is not taken back together with it, or of which one came
// first here and the other elsewhere. 0 for none. together says that there is one
// that can: then s left something else than that found, and both knew it.
func (l *Log) Beside(s *Step, q *journal.Post, set map[uint64]bool) (other uint64, together bool) {
	at := string(q.Path)
	for _, e := range l.Steps {
		if e == s || e.Stamp > s.Last || s.Stamp > e.Last || e.UndoneBy != 0 && !set[e.Number] {
			continue
		}
		post, ok := e.PostOf(at)
		if !ok || post.State.Kind == journal.Dir && q.State.Kind == journal.Dir {
			continue
		}
		if !set[e.Number] || (e.Number > s.Number) != (e.touched(at) > s.touched(at)) {
			return e.Number, false
		}
		together = true
	}
	return 0, together
}

// touched gives the moment when a step first changed a path.
func (s *Step) touched(path string) uint64 {
	s.Read()
	if i, ok := s.pre[path]; ok {
		return s.First[i]
	}
	return s.Stamp
}

// found gives what a step found at a path, if its journal says so: also that
// there was nothing, as there was no directory to hold it.
func (s *changes) found(path string) *journal.Pre {
	if pre, ok := s.PreOf(path); ok {
		return &pre
	}
	for at := path; ; {
		i := strings.LastIndexByte(at, '/')
		if i <= 0 {
			return nil
		}
		at = at[:i]
		if pre, ok := s.PreOf(at); ok && pre.State.Kind != journal.Dir {
			return &journal.Pre{}
		}
	}
}

// First gives the step that a redo made again.
func (l *Log) First(s *Step) *Step {
	for range len(l.Steps) {
		if len(s.Begin.Of) != 1 {
			break
		}
		of := l.Step(s.Begin.Of[0])
		if of == nil || of.Number >= s.Number {
			break
		}
		s = of
	}
	return s
}

// LeftBy gives what a step left at a path, as later steps found it; ok is false
// where none came by. now is what the path is called by the end of all of them.
func (l *Log) LeftBy(s *Step, path string) (state journal.State, now string, ok bool) {
	i, _ := slices.BinarySearchFunc(l.Steps, s.Number+1, func(s *Step, n uint64) int { return cmp.Compare(s.Number, n) })
	for _, e := range l.Steps[i:] {
		if pre := e.found(path); pre != nil {
			return pre.State, "", true
		}
		path = e.Carried(path)
	}
	return journal.State{}, path, false
}

// Carried gives what a path is called after a step that moved it, or what it lies
// in.
func (s *changes) Carried(path string) string {
	if s.moved == nil {
		s.moved = make(map[string]string)
		for i := range s.Posts() {
			if q := &s.posts[i]; len(q.Origin) > 0 {
				s.moved[string(q.Origin)] = string(q.Path)
			}
		}
	}
	for at := path; ; {
		if to, ok := s.moved[at]; ok {
			return to + path[len(at):]
		}
		i := strings.LastIndexByte(at, '/')
		if i <= 0 {
			return path
		}
		at = at[:i]
	}
}

// WithFormer adds what paths were called before a step, where that moved a directory that
// they lie in.
func WithFormer(paths []string, s *Step) []string {
	if len(paths) == 0 || s.Open() {
		return paths
	}
	former := Carriers(s.Posts())
	for _, p := range slices.Clone(paths) {
		if was := former(p); was != "" && !slices.Contains(paths, was) {
			paths = append(paths, was)
		}
	}
	return paths
}

// Carriers gives a function that says what a path will be called when the
// directories that moved with what is in them are back; "" where what it lies in
// goes, as the step made it.
func Carriers(posts []journal.Post) func(path string) string {
	moved := make(map[string]string)
	for i := range posts {
		if q := &posts[i]; q.State.Kind == journal.Dir {
			moved[string(q.Path)] = string(q.Origin)
		}
	}
	return func(path string) string { return carriedBy(moved, path) }
}

// carriedBy remembers directories in what is moved: each is followed once, however
// deep it is and however much it holds.
func carriedBy(moved map[string]string, path string) string {
	last := strings.LastIndexByte(path, '/')
	if last <= 0 {
		return path
	}
	var unknown []int // where the directories end, deepest first
	at, to, gone := last, "", false
	for ; at > 0; at = strings.LastIndexByte(path[:at], '/') {
		known := false
		if to, known = moved[path[:at]]; known {
			gone = to == ""
			break
		}
		unknown = append(unknown, at)
	}
	at = max(at, 0)
	for _, end := range slices.Backward(unknown) {
		switch {
		case gone:
		case to == path[:at]:
			to = path[:end]
		default:
			to += path[at:end]
		}
		moved[path[:end]], at = to, end
	}
	if gone {
		return ""
	}
	return to + path[last:]
}

// PostOf gives what the step left at a path.
func (s *changes) PostOf(path string) (journal.Post, bool) {
	s.Read()
	i, ok := s.post[path]
	if !ok {
		return journal.Post{}, false
	}
	return s.posts[i], true
}
