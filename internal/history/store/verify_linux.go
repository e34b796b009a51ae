package store

import (
	"fmt"
	"slices"
	"strings"

	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
)

// Verify looks at the whole store and changes nothing: every journal, and every
// object that a step needs. An undo cannot begin meanwhile.
func (s *Store) Verify() (*Verified, error) {
	if err := s.Share(); err != nil {
		return nil, err
	}
	defer s.Unlock()
	l, err := s.Read()
	if err != nil {
		return nil, err
	}
	c := &check{Store: s, log: l, want: l.Holdings(), known: l.Objects(), live: make(map[string]bool)}
	for _, step := range l.Steps {
		c.Steps++
		if step.Live {
			c.live[step.Segment] = true
		}
		if step.Open() && !step.Live && step.Damaged == "" {
			c.fault(Fault{Code: FaultInterrupted, At: "journal/" + step.Segment, Step: step.Number, Why: "its writer was killed; any other command of the history closes it"})
		}
	}
	c.Running = len(c.live)
	c.journals()
	if err := c.objects(); err != nil {
		return nil, err
	}
	c.missing()
	return &c.Verified, nil
}

// check is one verification under way.
type check struct {
	*Store
	Verified
	log   *Log
	want  map[journal.Object]steplog.Holding // what has not been found so far
	known map[journal.Object]bool
	live  map[string]bool // segments that are being written
}

func (c *check) fault(f Fault) { c.Faults = append(c.Faults, f) }

// journals tells what could not be read, and what is no journal.
func (c *check) journals() {
	for _, d := range c.log.Damaged {
		name, why, ok := strings.Cut(d, ": ")
		switch {
		case !ok:
			c.fault(Fault{Code: FaultJournal, At: "journal", Why: d})
		case name == discardsFile:
			c.fault(Fault{Code: FaultDiscarded, At: name, Why: why})
		default:
			c.fault(Fault{Code: FaultJournal, At: "journal/" + name, Why: why})
		}
	}
	err := c.eachName("journal", func(e entry) error {
		c.Segments++
		return nil
	})
	if err != nil {
		c.fault(Fault{Code: FaultJournal, At: "journal", Why: err.Error()})
	}
}

// objects compares what is there with what should be.
func (c *check) objects() error {
	err := c.eachObject(func(o journal.Object, e entry) error {
		c.Objects++
		if o == (journal.Object{}) {
			c.fault(Fault{Code: FaultStray, At: e.at, Why: "no object has such a name"})
			return nil
		}
		h, wanted := c.want[o]
		delete(c.want, o)
		switch {
		case wanted:
			c.compare(e, &h)
		case !c.known[o]:
			why := "nothing refers to it; `carrel history gc` removes it"
			if c.log.Broken[o.Segment] {
				why = "its journal is damaged, and may have said what it is; `carrel history gc` leaves it there"
			}
			c.fault(Fault{Code: FaultUnreferenced, At: e.at, Why: why})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.lookAgain()
}

// lookAgain drops what was unreferenced only because its writer began meanwhile.
func (c *check) lookAgain() error {
	unreferenced := func(f Fault) bool { return f.Code == FaultUnreferenced }
	if !slices.ContainsFunc(c.Faults, unreferenced) {
		return nil
	}
	l, err := c.Read()
	if err != nil {
		return err
	}
	known, live := l.Objects(), make(map[string]bool)
	for _, s := range l.Steps {
		live[s.Segment] = live[s.Segment] || s.Live
	}
	c.Faults = slices.DeleteFunc(c.Faults, func(f Fault) bool {
		segment, name, _ := strings.Cut(strings.TrimPrefix(f.At, "objects/"), "/")
		n, _ := journal.ObjectNumber(name)
		return unreferenced(f) && (live[segment] || known[journal.Object{Segment: segment, Number: n}])
	})
	return nil
}

// compare says where an object is not what was kept. The size says it: contents
// have no sums, as they would have to be read for that.
func (c *check) compare(e entry, h *steplog.Holding) {
	f := Fault{Code: FaultOther, At: e.at, Step: h.Step, Path: h.Path}
	switch {
	case e.is.kind != h.Kind:
		f.Why = fmt.Sprintf("it is a %s, and a %s was kept", e.is.kind, h.Kind)
	case h.Kind == journal.File && h.Size >= 0 && e.is.size != h.Size && !c.still(e, h):
		f.Why = fmt.Sprintf("it has %d bytes, and %d were kept", e.is.size, h.Size)
	default:
		return
	}
	c.fault(f)
}

// still says whether a file never lost the name that it has in the project: its
// writer was killed before that, and others may have written to it since.
func (c *check) still(e entry, h *steplog.Holding) bool {
	s := c.log.Step(h.Step)
	return e.is.links > 1 && s != nil && s.End != nil && s.End.Interrupted
}

// missing tells what was not found.
func (c *check) missing() {
	var out []Fault
	for o, h := range c.want {
		if c.live[o.Segment] {
			continue
		}
		out = append(out, Fault{Code: FaultMissing, At: o.File(), Step: h.Step, Path: h.Path, Why: "it is not there"})
	}
	slices.SortFunc(out, func(a, b Fault) int { return strings.Compare(a.At, b.At) })
	c.Faults = append(c.Faults, out...)
}
