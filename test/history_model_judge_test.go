//go:build linux

package e2e

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// request is a command of the history, and what is known of it beforehand.
type request struct {
	item
	redo   bool
	n      int
	mode   string
	path   string
	steps  []uint64 // that it is about, in the order in which they are left
	enough bool     // there are n of them
	parts  bool     // a redo of steps of which a part was made again before
	onLine bool     // it goes along the line
	to     int      // a place of the line
	want   *tree    // that must come, where it is known
	before *tree
}

// left says whether the command left something as it was.
func (q request) left(did toldUndo) bool {
	return q.mode == "--skip-conflicts" && len(did.Conflicts) > 0
}

// asked takes a command apart.
func (m *model) asked(i item) request {
	q := request{item: i, redo: i.command[0] == "redo", n: 1, before: m.now}
	for k, word := range i.command[1:] {
		switch {
		case word == "--path":
			q.path = i.command[k+2]
		case word == "--step":
			q.steps, q.enough = []uint64{uint64(digits(i.command[k+2]))}, true
			return q
		case strings.HasPrefix(word, "--"):
			q.mode = word
		case q.path == "":
			q.n = digits(word)
		}
	}
	q.steps, q.enough = m.chosen(q.redo, q.n)
	q.parts = q.redo && slices.ContainsFunc(m.list, func(s toldStep) bool { return slices.Contains(q.steps, s.Step) && s.State != "undone" })
	q.to = m.line.at - q.n
	if q.redo {
		q.to = m.line.at + q.n
	}
	if q.path != "" || !q.enough || q.to < 0 || q.to > len(m.line.steps) {
		return q
	}
	passed := slices.Clone(m.line.steps[min(m.line.at, q.to):max(m.line.at, q.to)])
	if !q.redo {
		slices.Reverse(passed)
	}
	if slices.Equal(passed, q.steps) {
		q.onLine, q.want = true, m.line.trees[q.to]
	}
	return q
}

// chosen are the steps that an undo or redo of n is about, and whether there are as many.
// What one command took back of a step in several undos is one.
func (m *model) chosen(redo bool, n int) ([]uint64, bool) {
	var out []uint64
	by := 0
	for _, s := range slices.Backward(m.list) {
		switch {
		case redo && len(out) > 0 && m.by[s.Step] == by && m.runOf(s.Step) == out[len(out)-1]:
		case len(out) == n:
		case redo && s.Kind == "undo" && s.UndoneBy == 0:
			out, by = append(out, m.runOf(s.Step)), m.by[s.Step]
		case !redo && changed(s) && s.State != "undone":
			out = append(out, s.Step)
		}
	}
	return out, len(out) == n
}

// runOf is the step of a run that a record is about: an undo may be one of a redo.
func (m *model) runOf(number uint64) uint64 {
	for _, s := range slices.Backward(m.list) {
		if s.Step == number && len(s.Of) > 0 {
			number = s.Of[0]
		}
	}
	return number
}

// untrue are reasons to refuse that cannot hold here.
var untrue = regexp.MustCompile("content in the history is missing|changed it meanwhile")

// command is an undo or a redo, and what has to be true afterwards.
func (m *model) command(i item) {
	q := m.asked(i)
	if i.dry {
		would, r := m.ask(q.command, "--dry-run")
		if diff := m.w.look().differences(m.now, true); diff != "" {
			m.fail("dry run changed", "%s%s", r, diff)
		}
		defer func(q request) {
			if m.failure == nil {
				m.asSaid(q, would, r)
			}
		}(q)
	}
	did, r := m.ask(q.command)
	m.now, m.answer, m.answered = m.w.look(), did, r
	m.harmless(q, r)
	countering := m.counter != nil && slices.Equal(q.command, m.counter)
	owed := m.owed
	m.refused, m.owed, m.counter = nil, nil, nil
	exact := !m.loose && !m.line.loose
	switch diff := m.now.differences(q.before, true); {
	case r.code == 125 && diff != "":
		m.fail("refused and changed", "%s%s", r, diff)
	case r.code == 125 && countering && q.command[len(q.command)-1] != "--keep-both": // something else may be in its way
		m.owed, m.counter = owed, append(slices.Clone(q.command), "--keep-both")
	case r.code == 125 && countering:
		m.fail("token", "%v went by --force and do not come back: %s", owed, r)
	case r.code == 125 && q.want != nil && !m.line.soft:
		m.fail("refused", "with nothing in the way: %s", r)
	case r.code == 125 && untrue.MatchString(r.err):
		m.fail("untrue", "no file of the history is gone, and nothing else is at work: %s", r)
	case r.code == 125:
		if q.mode == "" && q.path == "" && q.enough {
			m.refused = q.command
		}
	case r.code == 1 && len(did.Unrestorable) == 0:
		m.fail("unnamed", "status 1: %s", r)
	case r.code == 1 && q.want != nil && !m.other && !countering:
		m.fail("unrestored", "%s%s", m.now.differences(q.want, exact), r)
	case r.code != 0 && r.code != 1:
		m.fail("status", "%s", r)
	case r.code == 0 && m.line.soft && q.left(did): // where it could have refused
	case r.code == 0 && q.want != nil && m.now.differences(q.want, exact) != "":
		m.fail("inexact", "%s%s", m.now.differences(q.want, exact), r)
	case r.code == 0 && q.path != "":
		m.partly(q, did, r)
	case r.code == 0:
		m.merged(q, did, r)
	}
	if m.failure != nil || r.code == 125 {
		return
	}
	for _, one := range owed {
		if countering && !m.now.tokens[one] {
			m.fail("token", "%s went by the command before and did not come back: %s", one, r)
		}
	}
	var last uint64
	if n := len(m.list); n > 0 {
		last = m.list[n-1].Step
	}
	m.list = m.w.steps("--all")
	fresh := slices.DeleteFunc(slices.Clone(m.list), func(s toldStep) bool { return s.Step <= last })
	var steps []uint64 // that were left, in this order
	m.commands++
	for _, s := range fresh {
		m.by[s.Step] = m.commands
		if m.partial[s.Step] = q.path != "" || q.left(did); moved(s) || s.Kind == "undo" {
			steps = append(steps, m.runOf(s.Step))
		}
	}
	steps = slices.Compact(steps)
	if len(fresh) == 1 {
		m.done[fresh[0].Step] = effect{q.before, m.now, false}
	}
	m.tokens(q, steps, r)
	m.arrive(q, did, steps, r)
}

// ask is a command, with what it says.
func (m *model) ask(command []string, more ...string) (told toldUndo, r result) {
	r = m.w.carrel(slices.Concat(command, more, []string{"--json"})...)
	if r.out != "" {
		if err := json.Unmarshal([]byte(r.out), &told); err != nil {
			m.fail("answer", "%v: %s", err, r)
		}
	}
	return told, r
}

// asSaid compares what a dry run has said with what was done.
func (m *model) asSaid(q request, would toldUndo, dry result) {
	wouldMeet, wouldDo := would.lists()
	met, done := m.answer.lists()
	switch r := m.answered; {
	case !q.enough || q.path != "" && r.code == 125:
	case dry.code != r.code:
		m.fail("dry run", "it ended so: %sand the command so: %s", dry, r)
	case r.code == 125:
	case met != wouldMeet || done != wouldDo:
		m.fail("dry run", "it said\n%s%sand did\n%s%s", wouldMeet, wouldDo, met, done)
	}
}

// harmless sees that nothing is left in the project, and nothing beside it changed.
func (m *model) harmless(q request, r result) {
	if why := q.before.astray(m.now, m.reached); why != "" {
		m.fail("beyond", "%s: %s", why, r)
	}
	for at := range m.now.things {
		if strings.Contains(at, ".carrel") {
			m.fail("litter", "%s: %s", at, r)
		}
	}
}

// partly sees that a path is as it was before the newest step, where that alone changed it.
func (m *model) partly(q request, did toldUndo, r result) {
	if len(did.Steps) != 1 {
		return
	}
	e, ok := m.done[did.Steps[0]]
	if !ok || e.mixed || q.before.differences(e.after, false) != "" || !sameWay(q.path, e.before, e.after) {
		return
	}
	if !e.before.alone(q.path) || !e.after.alone(q.path) {
		return
	}
	if diff := m.now.within(q.path).differences(e.before.within(q.path), false); diff != "" {
		m.fail("path", "%s%s", diff, r)
	}
}

// merged sees that one record was taken back where nothing else had changed a file since,
// and that what the record had left alone was left alone.
func (m *model) merged(q request, did toldUndo, r result) {
	if len(did.Steps) != 1 || q.mode != "" || q.path != "" {
		return
	}
	e, ok := m.done[did.Steps[0]]
	if !ok || e.mixed {
		return
	}
	paths := make(map[string]bool)
	for _, t := range []*tree{e.before, e.after, q.before, m.now} {
		for path := range t.things {
			paths[path] = true
		}
	}
	for path := range paths {
		if path == "." || strings.HasPrefix(path, "..") || !sameWay(path, e.before, e.after, q.before) {
			continue
		}
		// A file that was renamed takes a later edit along.
		if e.before.elsewhere(e.after, path) || e.after.elsewhere(e.before, path) {
			continue
		}
		simple := func(t *tree) bool { return !isDir(t.things[path]) && t.things[path].group == "" }
		if !simple(e.before) || !simple(e.after) || !simple(q.before) || !simple(m.now) {
			continue
		}
		was, left := e.before.told(path, true), e.after.told(path, true)
		met, is := q.before.told(path, true), m.now.told(path, true)
		if was == left && e.cameHere(path, m.now) {
			continue // the file that the step had changed has come to this path since
		}
		if met == left && is != was || was == left && is != met {
			m.fail("merge", "%q was %s\nwas left as %s\nwas found as %s\nand is %s\n%s", path, was, left, met, is, r)
		}
	}
}

// cameHere says whether a path has the content that was changed at another one, and is
// taken back.
func (e effect) cameHere(path string, now *tree) bool {
	is := now.things[path]
	for other, t := range e.before.things {
		if other != path && t.kind == is.kind && t.content == is.content && e.before.things[other].content != e.after.things[other].content {
			return true
		}
	}
	return false
}

// tokens sees that no text of an edit is lost. --force may take one, and a command what
// the opposite one has brought, if that brings it again. A redo destroys what the step did.
func (m *model) tokens(q request, steps []uint64, r result) {
	verb, opposite := "undo", "redo"
	if q.redo {
		verb, opposite = opposite, verb
	}
	for one := range m.now.tokens {
		if !q.before.tokens[one] {
			m.brought[verb+one] = true
		}
	}
	if q.want != nil && r.code == 0 {
		return // the tree as a whole is known
	}
	gone := make(map[string]bool)
	for _, s := range steps {
		if step, ok := m.done[s]; ok && q.redo {
			for _, one := range step.before.missing(step.after, nil) {
				gone[one] = true
			}
		}
	}
	m.owed = q.before.missing(m.now, gone)
	distinct := slices.Compact(slices.Sorted(slices.Values(steps))) // several undos may be of one step
	count := len(distinct)
	for _, s := range m.list { // newer steps may stand
		if q.redo && count > 0 && changed(s) && s.State != "undone" && s.Step > slices.Min(steps) && !slices.Contains(steps, s.Step) {
			count++
		}
	}
	m.counter = []string{opposite, strconv.Itoa(count)}
	if q.redo && len(distinct) == 1 {
		m.counter = []string{opposite, "--step", strconv.FormatUint(steps[0], 10)}
	}
	for _, one := range m.owed {
		if q.mode != "--force" && !m.brought[opposite+one] {
			m.fail("token", "%s of an edit is lost: %s", one, r)
		}
	}
	if len(m.owed) == 0 || len(steps) == 0 || r.code != 0 {
		m.owed, m.counter = nil, nil
	}
}

// arrive says where undo and redo go from here.
func (m *model) arrive(q request, did toldUndo, steps []uint64, r result) {
	n := len(steps)
	left := q.left(did)
	switch {
	case r.code != 0 || n == 0, q.want != nil && m.line.once:
		m.line = line{trees: []*tree{m.now}}
	case q.onLine && slices.Equal(steps, q.steps):
		m.line.at, m.line.trees[q.to] = q.to, m.now
	case q.redo && (q.parts || slices.ContainsFunc(did.Steps, func(s uint64) bool { return m.partial[s] })):
		m.line = line{trees: []*tree{m.now}}
	case q.redo:
		m.line = line{trees: make([]*tree, n+1), steps: steps, at: n, once: true, soft: true, loose: true}
		m.line.trees[0], m.line.trees[n] = q.before, m.now
	case left && n > 1: // and what it left of which step is not known
		m.line = line{trees: []*tree{m.now}}
	default:
		// What --skip-conflicts left is in the way again after a redo.
		m.line = line{trees: make([]*tree, n+1), steps: slices.Clone(steps), once: true, loose: true, soft: left}
		slices.Reverse(m.line.steps)
		m.line.trees[0], m.line.trees[n] = m.now, q.before
	}
}
