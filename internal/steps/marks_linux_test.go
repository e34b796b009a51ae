package steps

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/broker"
	"carrel/internal/config"
	"carrel/internal/history"
	"carrel/internal/inside"
	"carrel/internal/policy"

	"golang.org/x/sys/unix"
)

// TestMarksCutSteps: a step begins with the first mark and ends with the last of those that
// run side by side; what lies before and after is a step of its own.
func TestMarksCutSteps(t *testing.T) {
	k, root := testRecorder(t)
	begin := func(id, label string) error { return k.markLine(true, 0, inside.Mark{ID: id, Label: label}) }
	end := func(id string, all bool) error { return k.markLine(false, 0, inside.Mark{ID: id, All: all}) }
	for i, do := range []func() error{
		func() error { return makeFile(k, root, "before") },
		func() error { return begin("a", "first") },
		func() error { return makeFile(k, root, "in-a") },
		func() error { return begin("b", "second") },
		func() error { return end("a", false) },
		func() error { return makeFile(k, root, "in-b") },
		func() error { return end("none", false) }, // an end that fits none is one of the last
		func() error { return makeFile(k, root, "between") },
		func() error { return begin("c", strings.Repeat("x", 300)) },
		func() error { return begin("d", "") },
		func() error { return makeFile(k, root, "in-c") },
		func() error { return end("", true) },
		func() error { return makeFile(k, root, "after") },
	} {
		if err := do(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	if err := k.Close(0); err != nil {
		t.Fatal(err)
	}
	store, err := history.Open(k.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	log, err := store.ReadSegment(k.writer.Segment())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range log.Steps {
		got = append(got, fmt.Sprintf("%.6s %d", s.Begin.Label, s.Counts().Added))
	}
	if want := []string{" 1", "first 2", " 1", "xxxxxx 1", " 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestMarksAreBounded: in a second, in number and in length.
func TestMarksAreBounded(t *testing.T) {
	var m marks
	now := time.Unix(100, 0)
	for i := range MarksPerSecond + 5 {
		if got := m.allowed(now); got != (i < MarksPerSecond) {
			t.Errorf("mark %d: %v", i, got)
		}
	}
	if m.allowed(now.Add(time.Second-1)) || !m.allowed(now.Add(time.Second)) {
		t.Error("the allowance is that of one second")
	}
	for i := range 2 * maxMarks {
		m.begun(inside.Mark{ID: fmt.Sprint(i)})
	}
	if len(m.open) != maxMarks || m.open[0] != fmt.Sprint(maxMarks) {
		t.Errorf("%d are open, from %s on", len(m.open), m.open[0])
	}
	m.begun(inside.Mark{ID: strings.Repeat("x", 1000)})
	if n := len(m.open[maxMarks-1]); n != maxLabel {
		t.Errorf("a name of %d bytes is kept", n)
	}
	m.ended(inside.Mark{All: true})
	m.ended(inside.Mark{ID: "one too many"})
	if len(m.open) != 0 {
		t.Errorf("%q", m.open)
	}
}

// TestLedgerForgets: what a step destroyed counts for its time after it, and no longer.
func TestLedgerForgets(t *testing.T) {
	var l ledger
	now := time.Unix(1000, 0)
	l.add(history.Tally{Removed: 1}, now)
	l.add(history.Tally{Removed: 2}, now.Add(time.Second-1)) // within a second of it
	l.add(history.Tally{}, now.Add(5*time.Second))
	l.add(history.Tally{Removed: 4, RemovedBytes: 7}, now.Add(time.Minute))
	if len(l.list) != 2 {
		t.Errorf("%d entries", len(l.list))
	}
	for after, want := range map[time.Duration]int{time.Minute: 7, window: 7} {
		if got := l.sum(now.Add(after)); int(got.Removed) != want || got.RemovedBytes != 7 {
			t.Errorf("after %v: %+v", after, got)
		}
	}
	if got := l.sum(now.Add(window + 1)); got.Removed != 4 {
		t.Errorf("the first is forgotten: %+v", got)
	}
	if got := l.sum(now.Add(2*window + time.Minute)); got != (history.Tally{}) {
		t.Errorf("all are: %+v", got)
	}
}

// TestBoundsArePassed: each bound is the most that passes, 0 is none, and the text names the
// key that sets it.
func TestBoundsArePassed(t *testing.T) {
	b, err := newBounds(&config.Safeguards{RemovedFiles: &policy.Value[int64]{V: 3}, RemovedBytes: &policy.Value[int64]{V: 0}}, policy.Scope{})
	if err != nil || b.ask || b.within != AnswerTime {
		t.Fatalf("%+v, %v", b, err)
	}
	for _, c := range []struct {
		tally history.Tally
		want  string
	}{
		{history.Tally{Removed: 3}, ""}, {history.Tally{Removed: 4}, "safeguards.removed_files"},
		{history.Tally{Replaced: usualFiles}, ""}, {history.Tally{Replaced: usualFiles + 1}, "safeguards.replaced_files"},
		{history.Tally{RemovedBytes: 1 << 40}, ""},
		{history.Tally{OverwrittenBytes: usualBytes}, ""}, {history.Tally{OverwrittenBytes: usualBytes + 1}, "safeguards.overwritten_bytes"},
	} {
		if got := b.passed(c.tally); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.tally, got, c.want)
		}
	}
}

// TestAlwaysAsked: what is named is asked for by each change that takes it away, by whatever
// directory around it, and by none that does not.
func TestAlwaysAsked(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(dir+"/a/b", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"/a/b/keep.db", "/a/other"} {
		if err := os.WriteFile(dir+at, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	scope := policy.Scope{Cwd: dir, Project: dir, Home: "/nohome", Tmp: "/tmp"}
	b, err := newBounds(&config.Safeguards{AlwaysAsk: []policy.FileRequest{{Place: dir + "/**/*.db", Glob: true, Access: policy.Deny}}}, scope)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		op, at, to string
		kind       broker.Kind
		want       string
	}{
		{broker.OpUnlink, "/a/b/keep.db", "", broker.KindFile, "/a/b/keep.db"},
		{broker.OpOpen, "/a/b/keep.db", "", broker.KindFile, "/a/b/keep.db"},
		{broker.OpTruncate, "/a/b/keep.db", "", broker.KindFile, "/a/b/keep.db"},
		{broker.OpCreate, "/a/b/new.db", "", broker.KindNone, ""},
		{broker.OpChmod, "/a/b/keep.db", "", broker.KindFile, ""},
		{broker.OpUnlink, "/a/other", "", broker.KindFile, ""},
		{broker.OpRename, "/a/b/keep.db", "/a/x", broker.KindFile, "/a/b/keep.db"},
		{broker.OpRename, "/a", "/z", broker.KindDir, "/a/b/keep.db"},
		{broker.OpRename, "/a/b", "/z", broker.KindDir, "/a/b/keep.db"},
	} {
		ch := &broker.Change{Op: c.op, Path: dir + c.at, Kind: c.kind, Dir: unix.AT_FDCWD, Name: dir + c.at, ToDir: -1}
		if c.to != "" {
			ch.To = dir + c.to
		}
		if at, _ := b.alwaysAsked(ch); strings.TrimPrefix(at, dir) != c.want {
			t.Errorf("%s %s: %q, want %q", c.op, c.at, at, c.want)
		}
	}
}

// TestWritableFiles: the kernel's own lists of this process give the files that it can write
// to, by a descriptor or a shared mapping.
func TestWritableFiles(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		flags, prot, how int
		want             bool
	}{
		"by a descriptor": {os.O_RDWR, 0, 0, true}, "for reading": {os.O_RDONLY, 0, 0, false},
		"mapped shared": {os.O_RDWR, unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED, true}, "mapped privately": {os.O_RDWR,
			unix.PROT_WRITE, unix.MAP_PRIVATE, false},
		"mapped for reading": {os.O_RDWR, unix.PROT_READ, unix.MAP_SHARED, false},
	} {
		at := dir + "/" + strings.ReplaceAll(name, " ", "-")
		if err := os.WriteFile(at, make([]byte, 4096), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(at, c.flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil {
			t.Fatal(err)
		}
		if c.prot != 0 { // only the mapping is left
			m, err := unix.Mmap(int(f.Fd()), 0, 4096, c.prot, c.how)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Munmap(m)
			f.Close()
		}
		if got := slices.Contains(writableOf(os.Getpid()), file{st.Dev, st.Ino}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		f.Close()
	}
}

// FuzzMappedIn: whatever a list says, only a shared mapping for writing of a file is told of.
func FuzzMappedIn(f *testing.F) {
	for _, seed := range []string{
		"7f00-7f01 rw-s 00000000 fd:01 42 /x\n", "7f00-7f01 rw-p 00000000 fd:01 42 /x\n", "7f00-7f01 r--s 0 fd:01 42\n", "a b c d e\n",
		"7f00-7f01 rw-s 0 :: -1 \n", "7f00-7f01 rw-s 0 00:01 0\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		out := mappedIn(strings.NewReader(list))
		if len(out) > strings.Count(list, "\n")+1 {
			t.Errorf("%d files of %q", len(out), list)
		}
		for _, one := range out {
			if one.ino == 0 || !strings.Contains(list, "w") || !strings.Contains(list, "s") {
				t.Errorf("%+v of %q", one, list)
			}
		}
	})
}

// TestMarkerOfAMachine: in a machine a mark is of the command whose label comes with it, and ends no
// step by what is known of this host's processes.
func TestMarkerOfAMachine(t *testing.T) {
	k, root := testRecorder(t)
	one := k.StartApp("a1", 7, []string{"agent"}, "agent", false)
	for label, want := range map[uint64]*line{7: one.line, 8: &k.line, 0: &k.line} {
		if k.jobs.lineOf(Marker{Label: label}) != want {
			t.Errorf("label %d has another line", label)
		}
	}
	make := func(name string) error {
		ch := &broker.Change{Op: broker.OpCreate, Path: root + "/" + name, Dir: -1, ToDir: -1, Name: name, Label: 7}
		if err := k.Before(ch); err != nil {
			return err
		}
		err := os.WriteFile(ch.Path, nil, 0o600)
		k.After(ch, err)
		return err
	}
	for i, do := range []func() error{
		func() error { return make("before") },
		func() error { return k.Mark(true, Marker{Label: 7}, inside.Mark{ID: "c", Label: "call"}) },
		func() error { return make("in") },
		func() error { return k.Mark(false, Marker{Label: 7}, inside.Mark{ID: "c"}) },
		func() error { return make("after") },
	} {
		if err := do(); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if steps, err := k.EndApp(one, 0); err != nil || len(steps) != 3 {
		t.Errorf("steps %v, %v", steps, err)
	}
	if err := k.Close(0); err != nil {
		t.Error(err)
	}
}
