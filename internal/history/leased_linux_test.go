package history

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
)

// TestAnotherRunWrites: at any moment while one run removes or replaces a file,
// another one empties it and writes less into it. What the first has kept is one of
// the two, whole.
func TestAnotherRunWrites(t *testing.T) {
	const found, less = "as it was found", "less"
	for way, change := range map[string]func(*desk){
		"removed":  func(d *desk) { d.remove(t, "f") },
		"replaced": func(d *desk) { d.rename(t, "new", "f") },
	} {
		met := make(map[string]int) // by what became of the writing
		for at := 0; ; at++ {
			a := newDesk(t)
			for name, text := range map[string]string{"f": found, "new": "by the first"} {
				if err := os.WriteFile(a.at(name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var file unix.Stat_t
			if err := unix.Lstat(a.at("f"), &file); err != nil {
				t.Fatal(err)
			}
			b := a.second(t)
			a.begin(t)
			b.begin(t)
			outcome := ""
			a.atCall(at, func() { outcome = b.otherRun(t, &file, "f", less) }, func() { change(a) })
			a.end(t)
			b.end(t)
			a.close(t)
			b.close(t)
			when := fmt.Sprintf("%s, at call %d: %q", way, at, outcome)
			if faults := a.verified(t); len(faults) > 0 {
				t.Fatalf("%s: %+v", when, faults)
			}
			want := found
			if outcome == "written" {
				want = less
			}
			pre, _ := a.read(t).Step(1).PreOf(a.at("f"))
			kept := fmt.Sprintf("%s/objects/%s/%s", a.store.Dir(), pre.Object.Segment, journal.ObjectName(pre.Object.Number))
			if got, err := os.ReadFile(kept); err != nil || string(got) != want {
				t.Fatalf("%s: kept is %q, %v", when, got, err)
			}
			if met[outcome]++; outcome == "" {
				break // the change is over
			}
		}
		for _, outcome := range []string{"written", "leased", "too late"} {
			if met[outcome] == 0 {
				t.Errorf("%s: never %q: %v", way, outcome, met)
			}
		}
	}
}

// TestAnotherRunWroteSince: a step has touched a file without its content, another
// run writes into it, and then the step destroys that: undo brings it back.
func TestAnotherRunWroteSince(t *testing.T) {
	for _, text := range []string{"less", "more than what was found", ""} {
		for first, touch := range map[string]func(*desk) (name string){
			"mode": func(d *desk) string { d.chmod(t, "f", 0o640); return "f" },
			"name": func(d *desk) string { d.rename(t, "f", "g"); return "g" },
		} {
			for then, destroy := range map[string]func(d *desk, name string){
				"removed":  func(d *desk, name string) { d.remove(t, name) },
				"replaced": func(d *desk, name string) { d.rename(t, "new", name) },
				"written":  func(d *desk, name string) { d.write(t, name, "by the step") },
			} {
				d := newDesk(t)
				for name, text := range map[string]string{"f": "as it was found", "new": "by the step"} {
					if err := os.WriteFile(d.at(name), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				d.begin(t)
				name := touch(d)
				if err := os.WriteFile(d.at(name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				destroy(d, name)
				d.end(t)
				d.close(t)
				when := fmt.Sprintf("%s, %q, %s", first, text, then)
				if faults := d.verified(t); len(faults) > 0 {
					t.Errorf("%s: %+v", when, faults)
				}
				if _, err := d.undo(t, Request{Steps: []uint64{1}}); err != nil {
					t.Errorf("%s: %v", when, err)
				}
				if got, err := os.ReadFile(d.at("f")); err != nil || string(got) != text {
					t.Errorf("%s: undo gives %q, %v", when, got, err)
				}
			}
		}
	}
}

// atCall has something done just before the n-th call of what do does.
func (d *desk) atCall(n int, then, do func()) {
	calls := 0
	disk.Trial = func(string) error {
		if calls++; calls == n+1 {
			disk.Trial = nil
			then()
		}
		return nil
	}
	defer func() { disk.Trial = nil }()
	do()
}

// otherRun writes into a file as the broker of another run does, which asks again
// later where the file is leased, and says how far it came.
func (d *desk) otherRun(t *testing.T, file *unix.Stat_t, name, text string) (outcome string) {
	t.Helper()
	_ = d.careful(Content, d.at(name), "", func() error {
		fd, err := unix.Open(d.at(name), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err == unix.EAGAIN {
			outcome = "leased"
			return err
		}
		if err != nil {
			outcome = "too late"
			return err
		}
		defer unix.Close(fd)
		outcome = "written"
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil || st.Ino != file.Ino {
			outcome = "too late"
		}
		if err = disk.Truncate(fd, 0); err == nil {
			_, err = unix.Write(fd, []byte(text))
		}
		return err
	})
	return outcome
}
