package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/api"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// place is a directory for one log.
func place(t testing.TB) *os.File {
	t.Helper()
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir
}

func create(t testing.TB, dir *os.File, max int64) *Log {
	t.Helper()
	l, err := Create(dir, max, func(err error) { t.Log(err) })
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func some(n int) api.AuditRecord {
	return api.AuditRecord{Kind: api.AuditRequest, Who: api.AuditWho{Kind: api.WhoCaller, PID: n}, Operation: "exec", Subject: fmt.Sprintf("make <test> %d", n), Decision: api.DecisionAllowed}
}

// written is the log of a few records as it lies on disk.
func written(t testing.TB, n int) (*os.File, []byte) {
	t.Helper()
	dir := place(t)
	l := create(t, dir, 1<<20)
	for i := range n {
		l.Append(some(i))
	}
	l.Close()
	return dir, content(t, dir, Name)
}

func content(t testing.TB, dir *os.File, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir.Name(), name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t testing.TB, dir *os.File, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir.Name(), name), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func check(t testing.TB, dir *os.File, head string) api.AuditResult {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.Verify(head)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func verified(t testing.TB, b []byte, head string) api.AuditResult {
	t.Helper()
	r, err := Verify(head, Part{Name, bytes.NewReader(b)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestOnlyFiles: nobody waits for what is no file.
func TestOnlyFiles(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, t.TempDir(), os.DevNull} {
		if s, err := OpenFile(path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%q: %v, %v", path, s, err)
		}
	}
}

func TestLogHolds(t *testing.T) {
	dir, b := written(t, 5)
	r := check(t, dir, "")
	if !r.OK || r.Records != 7 || r.First != 1 || r.Last != 7 || len(r.Notes) != 0 || r.From.IsZero() || !strings.HasSuffix(string(b), r.Head+"\"}\n") {
		t.Errorf("%+v", r)
	}
	var seen []string
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, _ = s.Each(2, func(_ []byte, r api.AuditRecord) error { seen = append(seen, r.Subject); return nil })
	if len(seen) != 5 || seen[0] != "make <test> 1" || seen[4] != "" {
		t.Errorf("%q", seen)
	}
	var copied bytes.Buffer
	if err := s.Copy(&copied); err != nil || !bytes.Equal(copied.Bytes(), b) {
		t.Errorf("a copy of %d bytes of %d: %v", copied.Len(), len(b), err)
	}
}

// TestAnyChangeIsFound: whatever is changed, left out, put in or moved, but for
// what is cut off the end, and that by the head.
func TestAnyChangeIsFound(t *testing.T) {
	_, b := written(t, 6)
	lines := bytes.SplitAfter(b, []byte{'\n'})
	lines = lines[:len(lines)-1]
	head := verified(t, b, "").Head
	rapid.Check(t, func(rt *rapid.T) {
		var now []byte
		switch rapid.IntRange(0, 5).Draw(rt, "what") {
		case 0: // one byte
			now = bytes.Clone(b)
			i := rapid.IntRange(0, len(b)-1).Draw(rt, "at")
			now[i] ^= byte(rapid.IntRange(1, 255).Draw(rt, "by"))
		case 1: // some bytes out
			i := rapid.IntRange(0, len(b)-2).Draw(rt, "from")
			j := rapid.IntRange(i+1, len(b)-1).Draw(rt, "to")
			now = append(bytes.Clone(b[:i]), b[j:]...)
		case 2: // some bytes in
			i := rapid.IntRange(0, len(b)).Draw(rt, "at")
			more := rapid.SliceOfN(rapid.Byte(), 1, 50).Draw(rt, "more")
			now = append(append(bytes.Clone(b[:i]), more...), b[i:]...)
		case 3: // lines in another order
			now = bytes.Join(rapid.Permutation(lines).Draw(rt, "lines"), nil)
		case 4: // a line twice
			i := rapid.IntRange(0, len(lines)-1).Draw(rt, "line")
			j := rapid.IntRange(0, len(lines)).Draw(rt, "at")
			now = bytes.Join(append(append(append([][]byte{}, lines[:j]...), lines[i]), lines[j:]...), nil)
		case 5: // a line out, which is not the last
			i := rapid.IntRange(0, len(lines)-2).Draw(rt, "line")
			now = bytes.Join(append(append([][]byte{}, lines[:i]...), lines[i+1:]...), nil)
		}
		r := verified(t, now, "")
		if cut := bytes.HasPrefix(b, now); cut && len(now) < len(b) {
			if r := verified(t, now, head); r.OK {
				rt.Errorf("an end that was cut off: %+v", r)
			}
			return
		}
		// A beginning of the next record behind the last one is what a kill leaves, and
		// is told of.
		torn := bytes.HasPrefix(now, b) && len(r.Notes) == 1
		// So is a last record without its end, which the head tells from the whole.
		if len(r.Notes) == 1 && r.Head != head {
			torn = !verified(t, now, head).OK
		}
		if r.OK && !bytes.Equal(now, b) && !torn {
			rt.Errorf("not found: %+v", r)
		}
		if !r.OK && (r.Broken == nil || r.Broken.Why == "" || r.Broken.Record == 0) {
			rt.Errorf("it is not said where: %+v", r)
		}
	})
}

// TestBrokenIsNamed: the record that is named is the first that does not hold.
func TestBrokenIsNamed(t *testing.T) {
	_, b := written(t, 6)
	lines := bytes.SplitAfter(b, []byte{'\n'})
	join := func(l ...[]byte) []byte { return bytes.Join(l, nil) }
	for name, c := range map[string]struct {
		b    []byte
		n    uint64
		says string
	}{
		"a byte":        {bytes.Replace(b, []byte("make <test> 2"), []byte("make <test> 9"), 1), 4, "its hash begins"},
		"a line":        {join(append(append([][]byte{}, lines[:3]...), lines[4:]...)...), 4, "record 5 comes after record 3"},
		"the beginning": {join(lines[2:]...), 1, "what came before is missing"},
		"nothing":       {nil, 1, "no record"},
		"two lines":     {join(append([][]byte{lines[0], lines[2], lines[1]}, lines[3:]...)...), 2, "record 3 comes after record 1"},
		"noise":         {join(append([][]byte{lines[0], []byte("hello\n")}, lines[1:]...)...), 2, "not a record"},
		"a long line":   {join(lines[0], bytes.Repeat([]byte("x"), 3*MaxLine)), 2, "more than"},
	} {
		r := verified(t, c.b, "")
		if r.OK || r.Broken.Record != c.n || !strings.Contains(r.Broken.Why, c.says) {
			t.Errorf("%s: %+v", name, r.Broken)
		}
	}
	if r := verified(t, b, strings.Repeat("a", hashDigits)); r.OK || !strings.Contains(r.Broken.Why, "cut off") {
		t.Errorf("another head: %+v", r)
	}
}

// TestAHeadThatWasPassed: a log that has gone on since its head was noted still has it.
func TestAHeadThatWasPassed(t *testing.T) {
	dir, _ := written(t, 3)
	head := check(t, dir, "").Head
	l := create(t, dir, 1<<20)
	l.Append(some(9))
	l.Close()
	if r := check(t, dir, head); !r.OK || r.Head == head || len(r.Notes) != 0 {
		t.Errorf("%+v", r)
	}
}

// TestKilledAnywhere: whatever a write had come to when its writer was killed, the
// next one goes on, and says what it has found.
func TestKilledAnywhere(t *testing.T) {
	_, b := written(t, 3)
	for cut := range len(b) + 1 {
		dir := place(t)
		put(t, dir, Name, b[:cut])
		if r := check(t, dir, ""); !r.OK && cut > bytes.IndexByte(b, '\n') {
			t.Fatalf("cut at %d: %+v", cut, r.Broken)
		}
		for round := range 2 { // it is killed once more, after one record
			l := create(t, dir, 1<<20)
			l.Append(some(100 + round))
			l.Close()
			now := content(t, dir, Name)
			put(t, dir, Name, now[:len(now)-1-round*5])
		}
		l := create(t, dir, 1<<20)
		l.Close()
		r := check(t, dir, "")
		if !r.OK || !strings.Contains(fmt.Sprint(r.Notes), "was not written to its end") && cut > 0 || !strings.Contains(fmt.Sprint(r.Notes), "was killed") {
			t.Fatalf("cut at %d: %+v %+v", cut, r, r.Broken)
		}
		dir.Close()
	}
}

// TestForgeryIsNotTakenForAKill: what was changed stays broken when it is gone on from.
func TestForgeryIsNotTakenForAKill(t *testing.T) {
	_, b := written(t, 3)
	last := bytes.LastIndexByte(b[:len(b)-1], '\n') + 1
	for name, forged := range map[string][]byte{
		"the last record":         bytes.Replace(b, []byte(`"kind":"closed"`), []byte(`"kind":"closer"`), 1),
		"without its newline":     bytes.TrimSuffix(bytes.Replace(b, []byte(`"kind":"closed"`), []byte(`"kind":"closer"`), 1), []byte("\n")),
		"noise":                   append(bytes.Clone(b), "hello"...),
		"noise with a newline":    append(bytes.Clone(b), "hello\n"...),
		"a hash":                  append(bytes.Clone(b[:len(b)-10]), "0000000\"}\n"...),
		"nothing but noise":       []byte("hello\n"),
		"a record in the middle":  bytes.Replace(b, []byte("make <test> 2"), []byte("make <test> 9"), 1),
		"another record's number": append(bytes.Clone(b[:last]), `{"seq":77,"time":"`...),
	} {
		dir := place(t)
		put(t, dir, Name, forged)
		l := create(t, dir, 1<<20)
		l.Append(some(5))
		l.Close()
		if r := check(t, dir, ""); r.OK {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestRotation: the chain goes over from one file to the next, at most two are there,
// and nothing between them can be left out.
func TestRotation(t *testing.T) {
	dir := place(t)
	l := create(t, dir, minSize)
	for i := range 2000 {
		l.Append(some(i))
	}
	l.Close()
	l = create(t, dir, minSize)
	l.Append(some(1))
	l.Close()
	r := check(t, dir, "")
	if !r.OK || r.First == 1 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "by rotation") {
		t.Fatalf("%+v %+v", r, r.Broken)
	}
	names, _ := os.ReadDir(dir.Name())
	var bytesOf int64
	for _, n := range names {
		info, _ := n.Info()
		bytesOf += info.Size()
	}
	if len(names) != 3 || bytesOf > minSize+2*MaxLine {
		t.Errorf("%d files with %d bytes", len(names), bytesOf)
	}
	now, old := content(t, dir, Name), content(t, dir, Older)
	if r := verified(t, append(bytes.Clone(old), now...), ""); !r.OK {
		t.Errorf("as one file: %+v", r.Broken)
	}
	put(t, dir, Older, old[:bytes.LastIndexByte(old[:len(old)-1], '\n')+1])
	if r := check(t, dir, ""); r.OK {
		t.Error("the end of the older file is not missed")
	}
	os.Remove(filepath.Join(dir.Name(), Older))
	if r := check(t, dir, ""); r.OK || !strings.Contains(r.Broken.Why, "older file is missing") {
		t.Errorf("the older file is not missed: %+v", r)
	}
	put(t, dir, Older, old)
	os.Remove(filepath.Join(dir.Name(), Name)) // it was killed in between
	l = create(t, dir, minSize)
	l.Close()
	if r := check(t, dir, ""); !r.OK {
		t.Errorf("killed between two files: %+v", r.Broken)
	}
}

// TestFullDisk: what cannot be written is counted, told once, and does not break the
// chain.
func TestFullDisk(t *testing.T) {
	for name, short := range map[string]int{"nothing is written": 0, "a part is written": 40} {
		dir := place(t)
		var mu sync.Mutex
		var told []error
		l, err := Create(dir, 1<<20, func(err error) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, err)
		})
		if err != nil {
			t.Fatal(err)
		}
		full := true
		l.write = func(f *os.File, b []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			if !full {
				return f.Write(b)
			}
			n, _ := f.Write(b[:min(short, len(b))])
			return n, &os.PathError{Op: "write", Path: f.Name(), Err: unix.ENOSPC}
		}
		for i := range 3 {
			l.Append(some(i))
		}
		for end := time.Now().Add(5 * time.Second); l.Err() == nil && time.Now().Before(end); time.Sleep(time.Millisecond) {
		}
		if !errors.Is(l.Err(), unix.ENOSPC) {
			t.Errorf("%s: %v", name, l.Err())
		}
		for len(l.records) > 0 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(20 * time.Millisecond)
		mu.Lock()
		full = false
		mu.Unlock()
		l.Append(some(4))
		l.Close()
		r := check(t, dir, "")
		if !r.OK || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "3 records before it could not be written: no space left on device") {
			t.Errorf("%s: %+v %+v", name, r, r.Broken)
		}
		if len(told) != 1 {
			t.Errorf("%s: told %q", name, told)
		}
	}
}

func TestOneWriter(t *testing.T) {
	dir := place(t)
	l := create(t, dir, 1<<20)
	if _, err := Create(dir, 1<<20, nil); !errors.Is(err, ErrTaken) {
		t.Errorf("%v", err)
	}
	l.Close()
	l.Append(some(1)) // nothing happens any more
	l.Close()
	create(t, dir, 1<<20).Close()
	var none *Log
	none.Append(some(1))
	none.Close()
	put(t, dir, Name, nil)
	if err := os.Remove(filepath.Join(dir.Name(), Name)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir.Name(), Name)); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir, 1<<20, nil); err == nil {
		t.Error("a link was followed")
	}
}

// TestTextsAreBounded: long and odd texts fit a line, and come back as text.
func TestTextsAreBounded(t *testing.T) {
	dir := place(t)
	l := create(t, dir, 1<<20)
	odd := strings.Repeat("\x00", 1<<20)
	l.Append(api.AuditRecord{Kind: odd, Operation: odd, Subject: odd, Rule: odd, Source: odd, Detail: odd, App: odd, Ceiling: odd, Decision: odd, Who: api.AuditWho{Kind: odd, Program: odd}})
	l.Append(api.AuditRecord{Kind: "x", Subject: "\xff\xfe" + strings.Repeat("ä", 4000)})
	l.Close()
	if r := check(t, dir, ""); !r.OK || r.Records != 4 {
		t.Errorf("%+v", r)
	}
}

// FuzzVerify: any bytes are read to an end, and what holds is made of records.
func FuzzVerify(f *testing.F) {
	_, b := written(f, 3)
	f.Add(b)
	f.Add(b[:len(b)-20])
	f.Add(append(bytes.Clone(b), `{"seq":6,"time":"`...))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := verified(t, b, "")
		if r.OK != (r.Broken == nil) || r.OK && r.Records == 0 || r.Records > uint64(bytes.Count(b, []byte{'\n'})) {
			t.Errorf("%+v", r)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	l := create(b, place(b), 32<<20)
	defer l.Close()
	for b.Loop() {
		l.Append(some(1))
	}
}
