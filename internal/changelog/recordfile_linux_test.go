package changelog

import (
	"os"
	"slices"
	"testing"
	"time"

	"carrel/internal/broker"
)

// TestDropRecords: what is empty goes, and what is older than the oldest step; never the
// record of a run that goes on, nor a file that is no record.
func TestDropRecords(t *testing.T) {
	now := time.Now()
	hour := time.Hour
	for _, c := range []struct {
		name   string
		oldest time.Time
		want   []string
	}{
		{"a step began three hours ago", now.Add(-3 * hour), []string{"foreign", "live.log", "now.log", "two.log", "two.log.1"}},
		{"a step began an hour ago", now.Add(-hour), []string{"foreign", "live.log", "now.log"}},
		{"it began as the record was made", now.Add(-2*hour + time.Second), []string{"foreign", "live.log", "now.log", "two.log", "two.log.1"}},
		{"no step is left", now, []string{"foreign", "live.log", "now.log"}},
		{"the steps are not known", time.Time{}, []string{"foreign", "four.log", "live.log", "now.log", "two.log", "two.log.1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, f := range map[string]struct {
				text string
				age  time.Duration
			}{
				"foreign": {"x", 4 * hour}, "empty.log": {"", 0}, "old-empty.log": {"", 4 * hour}, "four.log": {"x", 4 * hour},
				"two.log": {"x", 2 * hour}, "two.log.1": {"x", 2 * hour}, "now.log": {"x", 0},
			} {
				if err := os.WriteFile(dir+"/"+name, []byte(f.text), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(dir+"/"+name, time.Time{}, now.Add(-f.age)); err != nil {
					t.Fatal(err)
				}
			}
			r := &Log{touched: make(map[string]struct{}), most: usualBudget, path: dir + "/live.log"}
			if err := r.Before(&broker.Change{Op: broker.OpMkdir, Path: "/p"}); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(dir+"/live.log", time.Time{}, now.Add(-4*hour)); err != nil {
				t.Fatal(err)
			}
			if err := Drop(dir, c.oldest); err != nil {
				t.Fatal(err)
			}
			if got := names(t, dir); !slices.Equal(got, c.want) {
				t.Errorf("left: %q, want %q", got, c.want)
			}
			r.Close()
			if err := os.Chtimes(dir+"/live.log", time.Time{}, now.Add(-4*hour)); err != nil {
				t.Fatal(err)
			}
			if err := Drop(dir, now); err != nil {
				t.Fatal(err)
			}
			if got := names(t, dir); !slices.Equal(got, []string{"foreign", "now.log"}) {
				t.Errorf("left after the run: %q", got)
			}
		})
	}
	if err := Drop(t.TempDir()+"/missing", now); err != nil {
		t.Errorf("where no run has changed anything: %v", err)
	}
}

// TestRecordBeginsWithAChange: there is no file before one, nor after a run without any.
func TestRecordBeginsWithAChange(t *testing.T) {
	dir := t.TempDir()
	r := &Log{touched: make(map[string]struct{}), most: usualBudget, path: dir + "/r.log"}
	if got := names(t, dir); len(got) > 0 {
		t.Errorf("before a change: %q", got)
	}
	if err := r.Before(&broker.Change{Op: broker.OpMkdir, Path: "/p"}); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"r.log"}) {
		t.Errorf("after a change: %q", got)
	}
	r.Close()
	if err := r.Before(&broker.Change{Op: broker.OpMkdir, Path: "/q"}); err != nil || r.log != nil {
		t.Errorf("after its end: %v, it goes on: %v", err, r.log != nil)
	}
}

func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}
