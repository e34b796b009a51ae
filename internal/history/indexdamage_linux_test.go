package history

import (
	"bytes"
	"os"
	"testing"

	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
)

// indexed gives a desk with a few closed runs and an undo, and its index.
func indexed(t *testing.T) (*desk, string, []byte) {
	t.Helper()
	d := newDesk(t)
	d.fill(t)
	for _, name := range []string{"a", "dir/f"} {
		d.begin(t)
		d.write(t, name, "changed")
		d.end(t)
		d.close(t)
	}
	if _, err := d.undo(t, Request{Steps: []uint64{2}}); err != nil {
		t.Fatal(err)
	}
	at := d.store.Dir() + "/index"
	data, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	return d, at, data
}

// indexFileHead is what the file begins with.
const indexFileHead = "carrel index 2\n"

// indexOf reads the entries of the index, and whether it holds nothing else.
func (d *desk) indexOf(t fataler) (of map[string]string, whole bool) {
	t.Helper()
	data, err := os.ReadFile(d.store.Dir() + "/index")
	if err != nil {
		t.Fatalf("%v", err)
	}
	of = make(map[string]string)
	data, whole = bytes.CutPrefix(data, []byte(indexFileHead))
	for whole && len(data) > 0 {
		entry := string(journal.Frame(data, len(data)))
		segment, ok := steplog.EntrySegment(entry)
		if !ok {
			return of, false
		}
		of[segment] = entry
		data = data[journal.FrameBytes+len(entry):]
	}
	return of, whole
}

// TestWriterIndexes: who closes a segment adds it to the index, so a survey reads no
// journal.
func TestWriterIndexes(t *testing.T) {
	d, at, data := indexed(t)
	if of, whole := d.indexOf(t); !whole || len(of) != 3 || d.files("journal/*") != 3 {
		t.Fatalf("%d segments are in the index, and it is whole: %v", len(of), whole)
	}
	for _, s := range d.read(t).Steps {
		if s.Unread == nil {
			t.Errorf("the journal of step %d was read", s.Number)
		}
	}
	if now, err := os.ReadFile(at); err != nil || !bytes.Equal(now, data) {
		t.Errorf("a survey that learned nothing wrote the index: %v", err)
	}
}

// TestIndexDamaged: an index that is cut or has a wrong bit, at any byte, is not believed:
// a survey says what the journals say, and makes the index whole again.
func TestIndexDamaged(t *testing.T) {
	d, at, data := indexed(t)
	want := d.told(t)
	check := func(what string, n int, damaged []byte) {
		if err := os.WriteFile(at, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := d.told(t); got != want {
			t.Fatalf("%s at byte %d:\n%s\nwant\n%s", what, n, got, want)
		}
		if of, whole := d.indexOf(t); !whole || len(of) != 3 {
			t.Fatalf("%s at byte %d: afterwards %d segments are in the index, and it is whole: %v", what, n, len(of), whole)
		}
	}
	for n := range data {
		check("cut", n, data[:n])
		flipped := bytes.Clone(data)
		flipped[n] ^= 1 << (n % 8)
		check("another bit", n, flipped)
	}
	for name, foreign := range map[string][]byte{
		"zeros":              make([]byte, len(data)),
		"zeros behind":       append(bytes.Clone(data), make([]byte, 100)...),
		"no version":         data[len(indexFileHead):],
		"another version":    append([]byte("carrel index 9\n"), data[len(indexFileHead):]...),
		"the version twice":  append([]byte(indexFileHead), data...),
		"a text":             []byte("these are no steps\n"),
		"twice, by two":      append(bytes.Clone(data), data[len(indexFileHead):]...),
		"a part from two":    append(bytes.Clone(data), data[len(indexFileHead):len(indexFileHead)+20]...),
		"of another history": of(indexed(t)),
	} {
		if err := os.WriteFile(at, foreign, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := d.told(t); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

func of(_ *desk, _ string, data []byte) []byte { return data }

// told is what a survey says of all steps, read whole.
func (d *desk) told(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	l := d.read(t)
	for _, s := range l.Steps {
		for _, text := range []string{s.Begin.Kind, s.Segment} {
			out.WriteString(text + " ")
		}
		for _, n := range []uint64{s.Number, s.Stamp, s.Last, s.UndoneBy, uint64(s.Counts().Modified)} {
			out.WriteString(journal.ObjectName(n) + " ")
		}
		s.References(func(o journal.Object) { out.WriteString(o.File() + " ") })
		for i := range s.Posts() {
			out.WriteString(string(s.Posts()[i].Path) + " ")
		}
		out.WriteString("\n")
	}
	if err := l.Unreadable(); err != nil {
		t.Error(err)
	}
	return out.String()
}
