package history

import (
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"carrel/internal/history/journal"
)

// deed is one change of a few names, by the step or by another program; end ends the step.
type deed struct {
	step     bool
	what     string
	from, to string
}

// shuffle draws what two steps do and what another program does meanwhile and afterwards.
func shuffle(r *rand.Rand) (out []deed) {
	names := []string{"a", "b", "c", "d", "d/a", "d/b", "e"}
	kinds := []string{"write", "write", "rename", "rename", "exchange", "remove", "mkdir"}
	for range 2 {
		for range 1 + r.Intn(4) {
			out = append(out, deed{r.Intn(4) > 0, kinds[r.Intn(len(kinds))], names[r.Intn(len(names))], names[r.Intn(len(names))]})
		}
		out = append(out, deed{true, "end", "", ""})
		for range r.Intn(4) {
			out = append(out, deed{false, kinds[r.Intn(len(kinds))], names[r.Intn(len(names))], names[r.Intn(len(names))]})
		}
	}
	return out
}

// oneByOne is no fault: the steps together come to less than was promised, and all is taken
// back.
const oneByOne = "taken back, as it came to less"

// TestShuffledNames: whatever steps and another program do with the same few names, an undo
// in any mode comes to its end or says which path stops it, and no text is gone that was
// there before it, or that the steps had destroyed. CARREL_SEED names one to look at again.
func TestShuffledNames(t *testing.T) {
	first, end := int64(0), int64(400)
	if os.Getenv("CARREL_SOAK") != "" {
		end = 20_000
	}
	if named := os.Getenv("CARREL_SEED"); named != "" {
		seed, err := strconv.ParseInt(named, 10, 64)
		by(t, err)
		first, end = seed, seed+1
	}
	for seed := first; seed < end; seed++ {
		deeds, mode := shuffle(rand.New(rand.NewSource(seed))), []journal.Mode{journal.Abort, journal.Skip, journal.KeepBoth, journal.Force}[seed%4]
		fault := shuffled(t, deeds, mode)
		if fault == "" || fault == oneByOne {
			continue
		}
		for i := 0; i < len(deeds); { // what is not needed for a fault goes
			less := slices.Delete(slices.Clone(deeds), i, i+1)
			if f := shuffled(t, less, mode); deeds[i].what != "end" && f != "" && f != oneByOne {
				deeds, fault = less, f
			} else {
				i++
			}
		}
		t.Fatalf("seed %d, mode %v: %+v: %s", seed, mode, deeds, fault)
	}
}

// shuffled does what was drawn, takes both steps back, and says what is wrong then.
func shuffled(t *testing.T, deeds []deed, mode journal.Mode) string {
	d := newDesk(t)
	defer func() { // the soak draws more than there may be open files
		d.store.Close()
		_ = os.RemoveAll(filepath.Dir(d.root))
	}()
	d.opens = true
	for _, dir := range []string{"d", "e"} {
		by(t, os.Mkdir(d.at(dir), 0o755))
	}
	for _, name := range []string{"a", "b", "d/a", "e/a"} {
		by(t, os.WriteFile(d.at(name), []byte("first "+name), 0o644))
	}
	destroyed := make(map[string]bool) // by the steps
	d.begin(t)
	for i, x := range deeds {
		if x.what == "end" {
			d.end(t)
			d.begin(t)
			continue
		}
		before := texts(t, d.root)
		d.do(t, x, fmt.Sprintf("text %d", i))
		after := texts(t, d.root)
		for text := range before {
			if _, is := after[text]; !is && x.step && !strings.HasPrefix(text, "text") {
				destroyed[text] = true
			}
		}
		d.quiet(t)
	}
	d.end(t)
	d.close(t)
	before := texts(t, d.root)
	l := d.read(t)
	var steps []uint64
	for _, s := range l.Steps {
		for _, text := range d.betweens(t, s) { // kept, and told by show
			for _, text := range strings.Split(text, ";") {
				destroyed[text] = false
			}
		}
		if len(s.Posts()) > 0 {
			steps = append(steps, s.Number)
		}
	}
	if len(steps) == 0 {
		return ""
	}
	req := Request{Steps: steps, Mode: mode}
	req.Roots = []string{d.root}
	slices.Reverse(req.Steps)
	was, err := d.store.Preview(l, req)
	if err != nil {
		return fmt.Sprintf("the preview: %v", err)
	}
	var conflict *ConflictError
	var lost *UnrestorableError
	v, err := d.store.Undo(d.read(t), req)
	switch {
	case err != nil && strings.Contains(err.Error(), "take them back one by one"):
		return oneByOne
	case (was.Refused == nil) != (err == nil):
		return fmt.Sprintf("the preview: %v, the undo: %v", was.Refused, err)
	case errors.As(err, &conflict), errors.As(err, &lost):
		return ""
	case err != nil:
		return fmt.Sprintf("the undo: %v", err)
	case len(was.Conflicts) != len(v.Conflicts) || len(was.Unrestorable) != len(v.Unrestorable):
		return fmt.Sprintf("the preview told %+v, the undo %+v", was, v)
	}
	after := texts(t, d.root)
	for text := range before {
		if _, is := after[text]; !is && mode == journal.KeepBoth && !strings.HasPrefix(text, "first") {
			destroyed[text] = false
		}
	}
	for _, text := range slices.Sorted(maps.Keys(destroyed)) {
		if _, is := after[text]; !is && destroyed[text] && mode != journal.Skip && len(v.Unrestorable) == 0 {
			return fmt.Sprintf("%q is not there again: %v, before %v", text, after, before)
		}
	}
	return ""
}

// do does one change, by the step or by another program. What the kernel refuses is no
// matter.
func (d *desk) do(t *testing.T, x deed, text string) {
	op, path, to, do := Content, d.at(x.from), "", func() error {
		f, err := os.OpenFile(d.at(x.from), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o644)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text)
		return errors.Join(err, f.Close())
	}
	switch x.what {
	case "write":
		if _, err := os.Lstat(path); err != nil {
			op = Make
		}
	case "rename":
		op, to, do = Rename, d.at(x.to), func() error { return os.Rename(d.at(x.from), d.at(x.to)) }
	case "exchange":
		op, to, do = Exchange, d.at(x.to), func() error {
			return unix.Renameat2(unix.AT_FDCWD, d.at(x.from), unix.AT_FDCWD, d.at(x.to), unix.RENAME_EXCHANGE)
		}
	case "remove":
		op, do = Remove, func() error { return os.Remove(d.at(x.from)) }
	case "mkdir":
		op, do = Make, func() error { return os.Mkdir(d.at(x.from), 0o755) }
	}
	if !x.step {
		_ = do()
		return
	}
	if _, err := os.Lstat(path); err != nil && op != Make {
		return
	}
	d.act(untold{t}, op, path, to, do)
}

// untold is a test that keeps no log.
type untold struct{ fataler }

// TestShuffledFinds are drawn cases that were wrong once, cut down to what they need.
func TestShuffledFinds(t *testing.T) {
	for _, c := range []struct {
		mode  journal.Mode
		deeds string // of the step (s) or another program (p)
		want  string
	}{
		{journal.Force, "s rename b a; s write d/b; s end; p rename d b", ""},
		{journal.KeepBoth, "s write a; s write d/a; s end; p rename a d/a", ""},
		{journal.Force, "s write b; s end; s rename d/a a; p exchange b a; s end", ""},
		{journal.Force, "s remove a; s end; s write d/a; s end; p rename d/a a", ""},
		{journal.KeepBoth, "s rename b d/b; s end; s write d/b; s end; p rename d c", ""},
		{journal.KeepBoth, "s rename b d/b; s end; s write d/b; s end; p write b; p rename d c", oneByOne},
		{journal.Force, "s rename e d/b; s write e; s write b; s end; p exchange b d; p remove d", ""},
		{journal.Skip, "s rename e c; s end; p mkdir e; p exchange e c", ""},
		{journal.Force, "s rename e c; s end; p mkdir e; p exchange e c", ""},
	} {
		var deeds []deed
		for _, one := range strings.Split(c.deeds, "; ") {
			f := append(strings.Fields(one), "", "")
			deeds = append(deeds, deed{f[0] == "s", f[1], f[2], f[3]})
		}
		if fault := shuffled(t, deeds, c.mode); fault != c.want {
			t.Errorf("%s, mode %v: %s", c.deeds, c.mode, fault)
		}
	}
}
