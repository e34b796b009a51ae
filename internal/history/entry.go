package history

import (
	"encoding/binary"
	"slices"

	"carrel/internal/history/journal"
)

// An entry of the index is what is known of one closed segment: its state, and of each
// step all but what it changed. All entries are read by each command that lists steps,
// so they are plain numbers and texts, and no CBOR.

// segmentState tells one state of a segment's file from another, with what was read of it.
type segmentState struct {
	size, mtime   int64
	inode         uint64
	stamp, number uint64 // the last stamp, and the highest number of a step
}

// objectRange is objects of one segment whose numbers follow each other.
type objectRange struct {
	segment  string
	from, to uint64
}

// refs is what an index knows of a step's changes without them.
type refs struct {
	objects []objectRange
	empty   bool // it changed nothing
}

// refsOf finds out what a step that was read refers to.
func refsOf(s *Step) *refs {
	seen := make(map[journal.Object]bool)
	var all []journal.Object
	s.references(func(o journal.Object) {
		if !seen[o] {
			seen[o] = true
			all = append(all, o)
		}
	})
	slices.SortFunc(all, journal.Object.Compare)
	r := &refs{empty: len(s.Pres()) == 0 && len(s.Posts()) == 0 && len(s.Between()) == 0}
	for _, o := range all {
		if n := len(r.objects); n > 0 && r.objects[n-1].segment == o.Segment && r.objects[n-1].to+1 == o.Number {
			r.objects[n-1].to++
		} else {
			r.objects = append(r.objects, objectRange{o.Segment, o.Number, o.Number})
		}
	}
	return r
}

func (r *refs) each(do func(journal.Object)) {
	for _, o := range r.objects {
		for n := o.from; n <= o.to; n++ {
			do(journal.Object{Segment: o.segment, Number: n})
		}
	}
}

func writeEntry(segment string, is segmentState, steps []*Step) []byte {
	var w indexWriter
	w.text(segment)
	w.int(is.size)
	w.int(is.mtime)
	w.uint(is.inode)
	w.uint(is.stamp)
	w.uint(is.number)
	w.uint(uint64(len(steps)))
	for _, st := range steps {
		w.step(st)
	}
	return w.out
}

// entrySegment gives the name of the segment that an entry is about.
func entrySegment(entry string) (name string, ok bool) {
	r := indexReader{rest: entry}
	name = r.text()
	return name, !r.bad && journal.ValidSegment(name)
}

// readEntry is the reverse of writeEntry; ok is false for what that never writes.
func readEntry(entry string) (is segmentState, steps []*Step, ok bool) {
	r := indexReader{rest: entry}
	segment := r.text()
	is = segmentState{size: r.int(), mtime: r.int(), inode: r.uint(), stamp: r.uint(), number: r.uint()}
	n := r.count()
	for range n {
		st := r.step(segment)
		if st.Number > is.number || st.stamp < journal.BegunAt(segment) || max(st.stamp, st.last) > is.stamp {
			return is, nil, false
		}
		if r.bad || st.from < 0 || st.from > st.to || st.to > is.size || st.refs.count() > uint64(is.size) {
			return is, nil, false
		}
		if b := (journal.Record{Stamp: st.stamp, Step: st.Number, Begin: &st.Begin}); b.Valid() != nil {
			return is, nil, false
		}
		steps = append(steps, st)
	}
	return is, steps, !r.bad && r.rest == "" && is.stamp <= journal.MaxNumber && is.number <= journal.MaxNumber
}

// count is how many objects there are.
func (r *refs) count() (n uint64) {
	for _, o := range r.objects {
		if o.from > o.to || o.to > journal.MaxNumber || !journal.ValidSegment(o.segment) {
			return journal.MaxNumber
		}
		n += o.to - o.from + 1
	}
	return n
}

func (w *indexWriter) step(st *Step) {
	w.uint(st.Number)
	w.uint(st.stamp)
	w.uint(st.last)
	w.int(st.from)
	w.int(st.to)
	c := st.counts
	for _, n := range []int{c.Added, c.Modified, c.Removed, c.Renamed, c.Lost, c.Edited} {
		w.int(int64(n))
	}
	w.int(c.Kept)
	w.begin(&st.Begin)
	w.end(st.End)
	w.bool(st.refs.empty)
	w.uint(uint64(len(st.refs.objects)))
	for _, o := range st.refs.objects {
		if o.segment == st.Segment {
			w.text("")
		} else {
			w.text(o.segment)
		}
		w.uint(o.from)
		w.uint(o.to - o.from)
	}
}

func (r *indexReader) step(segment string) *Step {
	st := &Step{Segment: segment, Number: r.uint(), stamp: r.uint(), last: r.uint(), from: r.int(), to: r.int()}
	c := &journal.Counts{}
	for _, n := range []*int{&c.Added, &c.Modified, &c.Removed, &c.Renamed, &c.Lost, &c.Edited} {
		*n = int(r.int())
	}
	c.Kept = r.int()
	st.counts = c
	r.begin(&st.Begin)
	st.End = r.end()
	st.refs = &refs{empty: r.bool()}
	for range r.count() {
		o := objectRange{segment: r.text(), from: r.uint()}
		if o.segment == "" {
			o.segment = segment
		}
		o.to = o.from + r.uint()
		st.refs.objects = append(st.refs.objects, o)
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
