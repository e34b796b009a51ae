package history

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/history/store"

	"golang.org/x/sys/unix"
)

// power is a desk whose disks are recorded until the power is lost.
type power struct {
	*desk
	*recorder
	t     *testing.T
	marks []mark
	last  int // moment
}

// mark is a moment after which a step is on the disk.
type mark struct {
	at, began     int
	step          uint64
	before, after string
	told          string // what the journal says of it
}

// newPower fills a root, and begins to record: the store is not made yet.
func newPower(t *testing.T, root, kept string) *power {
	t.Helper()
	for _, dir := range []string{root, kept} {
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			err = errors.Join(err, os.RemoveAll(dir+"/"+e.Name()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	d := &desk{t: t, root: root + "/root", apart: root != kept}
	if err := os.Mkdir(d.root, 0o755); err != nil {
		t.Fatal(err)
	}
	d.fill(t)
	p := &power{desk: d, t: t}
	bases := []string{root}
	if d.apart {
		bases = append(bases, kept)
	}
	p.recorder = record(t, bases...)
	boot := store.BootID
	t.Cleanup(func() { store.BootID = boot })
	boots := 0
	store.BootID = func() string { boots++; return fmt.Sprint("boot ", boots) } // another each time
	d.store = openStore(t, kept+"/state/project/history")
	return p
}

func openStore(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// step makes one, and marks it when it is on the disk.
func (p *power) step(do func(t fataler, d *desk)) {
	p.t.Helper()
	m := mark{began: p.now(), before: snapshot(p.t, p.root)}
	p.begin(p.t)
	m.step = p.desk.step
	do(silent{p.t}, p.desk)
	p.end(p.t)
	if err := p.w.Sync(); err != nil {
		p.t.Fatal(err)
	}
	m.at, m.after = p.now(), snapshot(p.t, p.root)
	m.told = told(p.read(p.t).Step(m.step))
	p.marks = append(p.marks, m)
}

// silent does not log what steps do.
type silent struct{ t *testing.T }

func (s silent) Helper()                        { s.t.Helper() }
func (s silent) Fatalf(format string, v ...any) { s.t.Fatalf(format, v...) }

func told(s *steplog.Step) string {
	if s == nil {
		return "no such step"
	}
	return deviceNumber.ReplaceAllString(fmt.Sprintf("%+v\n%+v\n%+v", s.Begin, s.Pres(), s.Posts()), "Dev")
}

// deviceNumber is what changes with the next mount.
var deviceNumber = regexp.MustCompile(`Dev:[0-9]+`)

// losses calls do with states that a loss of power leaves, at each moment from one
// on. How many it tries at each depends on how much time there is.
func (p *power) losses(from int, do func(at int, when string, l *loss)) {
	p.store.Close()
	if p.last == 0 {
		p.last = p.now()
		stopRecording()
	}
	last := p.last
	seed := rand.Uint64()
	if again, err := strconv.ParseUint(os.Getenv("CARREL_TEST_SEED"), 10, 64); err == nil {
		seed = again
	}
	tries, stride, kinds := 1, 3, []string{"ordered"}
	if os.Getenv("CARREL_SOAK") == "1" {
		tries, stride, kinds = 5, 1, []string{"ordered", "loose"}
	}
	for at := from + rand.IntN(stride); at <= last; at += stride {
		for try := range tries {
			for _, kind := range kinds {
				when := fmt.Sprintf("%s, at %d of %d, seed %d/%d", kind, at, last, seed, try)
				rng := rand.New(rand.NewPCG(seed, uint64(try)))
				l := p.loose
				if kind == "ordered" {
					l = p.ordered
				}
				do(at, when, l(at, rng))
			}
		}
	}
}

// asMarked gives a loss the tree that was there at a mark.
func (p *power) asMarked(l *loss, at int) {
	var walk func(key uint64)
	walk = func(key uint64) {
		n := p.images[at][key]
		l.names[key], l.data[key] = n, n
		for _, to := range n.names {
			walk(to)
		}
	}
	top := p.images[at][p.roots[0]]
	walk(top.names["root"])
	l.names[p.roots[0]].names["root"] = top.names["root"]
}

// newest gives the mark of the newest step that was on the disk at a moment.
func (p *power) newest(at int) (m *mark) {
	for i := range p.marks {
		if p.marks[i].at <= at {
			m = &p.marks[i]
		}
	}
	return m
}

// checkSteps looks whether the steps that were on the disk are there, whole.
func (p *power) checkSteps(at int, when string) *Log {
	p.t.Helper()
	l, err := p.store.Read()
	if err != nil {
		p.t.Fatalf("%s: reading: %v", when, err)
	}
	for _, m := range p.marks {
		if m.at > at {
			continue
		}
		s := l.Step(m.step)
		if s == nil || s.Damaged != "" || s.End == nil || s.End.Interrupted {
			p.t.Fatalf("%s: step %d was on the disk, and is %+v of %v", when, m.step, s, l)
		}
		if got := told(s); got != m.told {
			p.t.Fatalf("%s: step %d is told as\n%s\nand not\n%s", when, m.step, got, m.told)
		}
	}
	return l
}

// checkNumbers looks whether what comes next has a number of its own.
func (p *power) checkNumbers(l *Log, when string) {
	p.t.Helper()
	w, err := p.store.NewWriter("next", []string{p.root})
	if err != nil {
		p.t.Fatalf("%s: a new writer: %v", when, err)
	}
	defer w.Close()
	n, err := w.Begin(journal.Begin{Kind: journal.StepRun})
	if err != nil || n <= l.Number {
		p.t.Fatalf("%s: the next step is %d after %d: %v", when, n, l.Number, err)
	}
	if _, err := w.End(0, nil); err != nil {
		p.t.Fatalf("%s: %v", when, err)
	}
}

// given is the number of the last step that was on the disk.
func (p *power) given(when string) (n uint64) {
	var at int
	_, _ = fmt.Sscanf(when, "ordered, at %d", &at)
	if m := p.newest(at); m != nil {
		n = m.step
	}
	return n
}

// checkVerified looks for what is missing of the steps that were on the disk.
func (p *power) checkVerified(at int, when string) {
	p.t.Helper()
	v, err := p.store.Verify()
	if err != nil {
		p.t.Fatalf("%s: verifying: %v", when, err)
	}
	for _, f := range v.Faults {
		safe := slices.ContainsFunc(p.marks, func(m mark) bool { return m.at <= at && m.step == f.Step })
		if f.Code == store.FaultUnreferenced || f.Code == store.FaultJournal && strings.Contains(f.Why, "unreadable before") ||
			!safe && (f.Code == store.FaultMissing || f.Code == store.FaultOther) {
			continue
		}
		p.t.Fatalf("%s: %+v", when, f)
	}
}

// reopen opens the store as the next command does.
func (p *power) reopen(when string, must bool) {
	p.t.Helper()
	p.store = openStore(p.t, p.bases[len(p.bases)-1]+"/state/project/history")
	if unfinished, err := p.store.Unfinished(); err != nil || !unfinished && strings.HasPrefix(when, "ordered") {
		c := p.store.CatchUp() // and nothing else, as a run does
		n, e := p.store.NextNumber()
		if c != nil || e != nil || len(p.marks) > 0 && p.last > 0 && n <= p.given(when) {
			p.t.Fatalf("%s: the next number is %d: %v", when, n, e)
		}
		if l, e := p.store.Read(); err != nil || e != nil || len(l.Interrupted()) > 0 {
			p.t.Fatalf("%s: %v %v %v", when, err, e, l)
		}
		return
	}
	if _, err := p.store.Recover([]string{p.root}); err != nil && must {
		p.t.Fatalf("%s: recovering: %v", when, err)
	}
}

// someSteps are places in oneStep: a tenth of them, never none, and all when soaking
// or trying again.
func someSteps() []int {
	first, stride := 0, 1
	if os.Getenv("CARREL_SOAK") != "1" && os.Getenv("CARREL_TEST_SEED") == "" {
		first, stride = rand.IntN(10), 10
	}
	var some []int
	for i := first; i < len(oneStep); i += stride {
		some = append(some, i)
	}
	return some
}

// TestPowerLostInSteps: what was ended and synced is there, whole, and can be
// taken back.
func TestPowerLostInSteps(t *testing.T) {
	one, two := memory(t), memory(t)
	for _, i := range someSteps() {
		a, b := oneStep[i], oneStep[(i+1)%len(oneStep)]
		for _, store := range []string{one, two} {
			t.Run(a.name+" and "+b.name, func(t *testing.T) {
				p := newPower(t, one, store)
				p.step(a.do)
				if store == one {
					p.desk.close(t)
				}
				gone := p.whatGoes()
				p.step(second)
				p.desk.close(t)
				p.losses(1, func(at int, when string, l *loss) {
					p.restore(l)
					p.reopen(when, true)
					if there := p.contents(); store == one && strings.HasPrefix(when, "ordered") {
						for _, c := range gone {
							if !there[c] {
								t.Fatalf("%s: lost: %.40q", when, c)
							}
						}
					}
					p.checkNumbers(p.checkSteps(at, when), when)
					p.checkVerified(at, when)
					p.store.Close()
				})
				p.losses(1, func(at int, when string, l *loss) {
					m := p.newest(at)
					if m == nil {
						return
					}
					p.asMarked(l, m.at)
					p.restore(l)
					p.reopen(when, true)
					p.undoBackTo(m, when)
					p.store.Close()
				})
			})
		}
	}
}

// whatGoes gives what is about to lose its name, and was on the disk before.
func (p *power) whatGoes() (out []string) {
	for name, text := range map[string]string{"dir/f": "f", "dir/sub/g": strings.Repeat("g", 5000)} {
		if data, err := os.ReadFile(p.at(name)); err == nil && string(data) == text {
			out = append(out, text)
		}
	}
	return out
}

// second is what is not on the disk yet when the power goes.
func second(t fataler, d *desk) {
	d.write(t, "a", "of the second")
	d.removeAll(t, "dir/sub")
	d.rename(t, "l2", "empty")
	d.rename(t, "dir", "elsewhere")
	d.rename(t, "elsewhere/f", "f")
	d.act(t, Exchange, d.at("od\xffd\n"), d.at("pipe"), func() error {
		return unix.Renameat2(unix.AT_FDCWD, d.at("od\xffd\n"), unix.AT_FDCWD, d.at("pipe"), unix.RENAME_EXCHANGE)
	})
	d.write(t, "newest", "new")
	d.rename(t, "newest", "f")
}

// undoBackTo takes everything back from a step on.
func (p *power) undoBackTo(m *mark, when string) {
	p.t.Helper()
	l, err := p.store.Read()
	if err != nil {
		p.t.Fatalf("%s: %v", when, err)
	}
	var steps []uint64
	for _, s := range l.Changes() {
		if s.Number >= m.step && !s.Open() && !l.Undone(s) {
			steps = append(steps, s.Number)
		}
	}
	_, err = p.store.Undo(l, Request{Steps: steps, Roots: []string{p.root}})
	var conflict *ConflictError
	if newest := l.Steps[len(l.Steps)-1]; err != nil && newest.Number > m.step && (strings.HasPrefix(when, "loose") || errors.As(err, &conflict) && !newest.End.Interrupted) {
		// The journal has of the next step what the tree has not: that is told.
		if got := snapshot(p.t, p.root); got != m.after {
			p.t.Fatalf("%s: %v, but\n%s", when, err, apart(got, m.after))
		}
		return
	}
	if err != nil {
		p.t.Fatalf("%s: undo of %v: %v", when, steps, err)
	}
	if got := snapshot(p.t, p.root); got != m.before && !(p.apart && alone(got) == alone(m.before)) {
		p.t.Fatalf("%s: after undo of %v:\n%s", when, steps, apart(got, m.before))
	}
}

// TestPowerLostInAnUndo: it is finished or never was, and nothing is lost of what
// was on the disk when it began.
func TestPowerLostInAnUndo(t *testing.T) {
	one, two := memory(t), memory(t)
	for _, i := range someSteps() {
		c := oneStep[i]
		for name, store := range map[string]string{"one file system": one, "two": two} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				p := newPower(t, one, store)
				p.step(oneStep[i].do)
				m := p.marks[0]
				p.desk.close(t)
				from := p.now()
				p.all()
				had := p.contents()
				if _, err := p.undo(t, Request{Steps: []uint64{1}}); err != nil {
					t.Fatal(err)
				}
				p.losses(from, func(at int, when string, l *loss) {
					p.restore(l)
					p.reopen(when, true)
					p.checkAfterUndo(&m, had, when)
					p.store.Close()
				})
			})
		}
	}
}

func (p *power) checkAfterUndo(m *mark, had map[string]bool, when string) {
	same := func(got, want string) bool { return got == want || p.apart && alone(got) == alone(want) }
	p.t.Helper()
	got := snapshot(p.t, p.root)
	if !same(got, m.before) && !same(got, m.after) {
		p.t.Fatalf("%s: neither before nor after:\n%s\n\n%s", when, apart(got, m.before), apart(got, m.after))
	}
	there := p.contents()
	for c := range had {
		if !there[c] {
			p.t.Fatalf("%s: lost: %.40q", when, c)
		}
	}
	l, err := p.store.Read()
	if err != nil {
		p.t.Fatalf("%s: %v", when, err)
	}
	if len(l.Damaged) > 0 {
		if strings.HasPrefix(when, "ordered") || !same(got, m.after) {
			p.t.Fatalf("%s: %v", when, l.Damaged)
		}
		return // the undo had not begun: not even its journal could be found
	}
	for _, s := range l.Steps {
		if s.End != nil && len(s.End.Left) > 0 {
			p.t.Fatalf("%s: left %q\n%s", when, s.End.Left, apart(got, m.before))
		}
	}
	if p.checkVerified(1<<30, when); l.Undone(l.Step(m.step)) != same(got, m.before) && m.before != m.after {
		p.t.Fatalf("%s: undone is %v", when, l.Undone(l.Step(m.step)))
	}
	p.desk.t = p.t
	p.undoAndRedo(p.t, when, m.before, got)
}

// contents gives what all files of the root and all objects hold.
func (p *power) contents() map[string]bool {
	out := make(map[string]bool)
	for _, dir := range []string{p.root, p.store.Dir() + "/objects"} {
		err := filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(at)
			out[string(data)] = true
			return err
		})
		if err != nil {
			p.t.Fatal(err)
		}
	}
	return out
}
