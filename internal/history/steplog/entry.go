package steplog

import (
	"encoding/binary"
	"slices"

	"carrel/internal/history/journal"
)

// An entry of the index is what is known of one closed segment: its state, and of each
// step all but what it changed. All entries are read by each command that lists steps,
// so they are plain numbers and texts, and no CBOR.

// SegmentState tells one state of a segment's file from another, with what was read of it.
type SegmentState struct {
	Size, Mtime   int64
	Inode         uint64
	Stamp, Number uint64 // the last stamp, and the highest number of a step
}

// ObjectRange is objects of one segment with numbers that follow each other.
type ObjectRange struct {
	Segment  string
	From, To uint64
}

// Refs is what an index knows of a step's changes without them.
type Refs struct {
	Objects []ObjectRange
	Empty   bool // it changed nothing
}

// refsOf finds out what a step that was read refers to.
func refsOf(s *Step) *Refs {
	seen := make(map[journal.Object]bool)
	var all []journal.Object
	s.References(func(o journal.Object) {
		if !seen[o] {
			seen[o] = true
			all = append(all, o)
		}
	})
	slices.SortFunc(all, journal.Object.Compare)
	r := &Refs{Empty: len(s.Pres()) == 0 && len(s.Posts()) == 0 && len(s.Between()) == 0}
	for _, o := range all {
		if n := len(r.Objects); n > 0 && r.Objects[n-1].Segment == o.Segment && r.Objects[n-1].To+1 == o.Number {
			r.Objects[n-1].To++
		} else {
			r.Objects = append(r.Objects, ObjectRange{o.Segment, o.Number, o.Number})
		}
	}
	return r
}

func (r *Refs) each(do func(journal.Object)) {
	for _, o := range r.Objects {
		for n := o.From; n <= o.To; n++ {
			do(journal.Object{Segment: o.Segment, Number: n})
		}
	}
}

// WriteEntry makes the entry of a segment that is in a state and has steps.
func WriteEntry(segment string, is SegmentState, steps []*Step) []byte {
	var w indexWriter
	w.text(segment)
	w.int(is.Size)
	w.int(is.Mtime)
	w.uint(is.Inode)
	w.uint(is.Stamp)
	w.uint(is.Number)
	w.uint(uint64(len(steps)))
	for _, st := range steps {
		w.step(st)
	}
	return w.out
}

// EntrySegment gives the name of the segment that an entry is about.
func EntrySegment(entry string) (name string, ok bool) {
	r := indexReader{rest: entry}
	name = r.text()
	return name, !r.bad && journal.ValidSegment(name)
}

// ReadEntry is the reverse of [WriteEntry]; ok is false for what that never writes.
func ReadEntry(entry string) (is SegmentState, steps []*Step, ok bool) {
	r := indexReader{rest: entry}
	segment := r.text()
	is = SegmentState{Size: r.int(), Mtime: r.int(), Inode: r.uint(), Stamp: r.uint(), Number: r.uint()}
	n := r.count()
	for range n {
		st := r.step(segment)
		if st.Number > is.Number || st.Stamp < journal.BegunAt(segment) || max(st.Stamp, st.Last) > is.Stamp {
			return is, nil, false
		}
		if r.bad || st.from < 0 || st.from > st.to || st.to > is.Size || st.Refs.count() > uint64(is.Size) {
			return is, nil, false
		}
		if b := (journal.Record{Stamp: st.Stamp, Step: st.Number, Begin: &st.Begin}); b.Valid() != nil {
			return is, nil, false
		}
		steps = append(steps, st)
	}
	return is, steps, !r.bad && r.rest == "" && is.Stamp <= journal.MaxNumber && is.Number <= journal.MaxNumber
}

// count is how many objects there are.
func (r *Refs) count() (n uint64) {
	for _, o := range r.Objects {
		if o.From > o.To || o.To > journal.MaxNumber || !journal.ValidSegment(o.Segment) {
			return journal.MaxNumber
		}
		n += o.To - o.From + 1
	}
	return n
}

func (w *indexWriter) step(st *Step) {
	w.uint(st.Number)
	w.uint(st.Stamp)
	w.uint(st.Last)
	w.int(st.from)
	w.int(st.to)
	c := st.counts
	for _, n := range []int{c.Added, c.Modified, c.Removed, c.Renamed, c.Lost, c.Edited} {
		w.int(int64(n))
	}
	w.int(c.Kept)
	w.begin(&st.Begin)
	w.end(st.End)
	w.bool(st.Refs.Empty)
	w.uint(uint64(len(st.Refs.Objects)))
	for _, o := range st.Refs.Objects {
		if o.Segment == st.Segment {
			w.text("")
		} else {
			w.text(o.Segment)
		}
		w.uint(o.From)
		w.uint(o.To - o.From)
	}
}

func (r *indexReader) step(segment string) *Step {
	st := &Step{Segment: segment, Number: r.uint(), Stamp: r.uint(), Last: r.uint(), from: r.int(), to: r.int()}
	c := &journal.Counts{}
	for _, n := range []*int{&c.Added, &c.Modified, &c.Removed, &c.Renamed, &c.Lost, &c.Edited} {
		*n = int(r.int())
	}
	c.Kept = r.int()
	st.counts = c
	r.begin(&st.Begin)
	st.End = r.end()
	st.Refs = &Refs{Empty: r.bool()}
	for range r.count() {
		o := ObjectRange{Segment: r.text(), From: r.uint()}
		if o.Segment == "" {
			o.Segment = segment
		}
		o.To = o.From + r.uint()
		st.Refs.Objects = append(st.Refs.Objects, o)
	}
	return st
}

func (w *indexWriter) begin(b *journal.Begin) {
	w.text(b.Kind)
	w.text(b.Run)
	w.texts(b.Command)
	w.text(b.Label)
	w.int(b.Time)
	w.uints(b.Of)
	w.bool(b.Partly)
	w.texts(b.Roots)
	w.uints(b.Devices)
	w.uints(b.Rest)
	w.int(int64(b.Mode))
	w.texts(b.Paths)
	w.bool(b.Open)
}

func (r *indexReader) begin(b *journal.Begin) {
	*b = journal.Begin{
		Kind: r.text(), Run: r.text(), Command: r.texts(), Label: r.text(), Time: r.int(), Of: r.uints(), Partly: r.bool(),
		Roots: r.texts(), Devices: r.uints(), Rest: r.uints(), Mode: journal.Mode(r.int()), Paths: r.texts(), Open: r.bool(),
	}
}

func (w *indexWriter) end(e *journal.End) {
	w.int(e.Time)
	w.int(int64(e.Exit))
	for _, is := range []bool{e.Interrupted, e.Aborted, e.Again, e.Alone} {
		w.bool(is)
	}
	w.texts(e.Left)
}

func (r *indexReader) end() *journal.End {
	return &journal.End{Time: r.int(), Exit: int(r.int()), Interrupted: r.bool(), Aborted: r.bool(), Again: r.bool(), Alone: r.bool(), Left: r.texts()}
}

// indexWriter writes numbers as they are in protocol buffers, and texts with their length.
type indexWriter struct{ out []byte }

func (w *indexWriter) uint(n uint64) { w.out = binary.AppendUvarint(w.out, n) }

func (w *indexWriter) int(n int64) { w.out = binary.AppendVarint(w.out, n) }

func (w *indexWriter) bool(is bool) {
	n := uint64(0)
	if is {
		n = 1
	}
	w.uint(n)
}

func (w *indexWriter) text(s string) {
	w.uint(uint64(len(s)))
	w.out = append(w.out, s...)
}

func (w *indexWriter) texts(list []journal.Bytes) {
	w.uint(uint64(len(list)))
	for _, s := range list {
		w.text(string(s))
	}
}

func (w *indexWriter) uints(list []uint64) {
	w.uint(uint64(len(list)))
	for _, n := range list {
		w.uint(n)
	}
}

// indexReader reads what an indexWriter wrote. What it cannot read is 0 or empty, and
// makes all of it bad.
type indexReader struct {
	rest string
	bad  bool
}

func (r *indexReader) uint() (n uint64) {
	for i := 0; i < len(r.rest) && i < binary.MaxVarintLen64; i++ {
		b := r.rest[i]
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			r.rest = r.rest[i+1:]
			return n
		}
	}
	r.bad, r.rest = true, ""
	return 0
}

func (r *indexReader) int() int64 {
	n := r.uint()
	return int64(n>>1) ^ -int64(n&1)
}

func (r *indexReader) bool() bool { return r.uint() != 0 }

// count is that of a list: each element has a byte at least.
func (r *indexReader) count() int {
	n := r.uint()
	if n > uint64(len(r.rest)) {
		r.bad, r.rest = true, ""
		return 0
	}
	return int(n)
}

func (r *indexReader) text() string {
	n := r.count()
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

func (r *indexReader) texts() []journal.Bytes {
	n := r.count()
	if n == 0 {
		return nil
	}
	out := make([]journal.Bytes, n)
	for i := range out {
		out[i] = journal.Bytes(r.text())
	}
	return out
}

func (r *indexReader) uints() []uint64 {
	n := r.count()
	if n == 0 {
		return nil
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = r.uint()
	}
	return out
}
