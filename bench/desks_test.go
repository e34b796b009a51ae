package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRanFor(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1234567 89 10\n": 1234567, "0 0 0\n": 0, "": 0, "x y": 0, "-5 0 0": 0, "99999999999999999999 1 1": 9223372036854775807,
	} {
		if got := ranFor(text); got != want {
			t.Errorf("ranFor(%q) = %d, want %d", text, got, want)
		}
	}
}

func FuzzRanFor(f *testing.F) {
	f.Add("1234567 89 10\n")
	f.Add("-1")
	f.Fuzz(func(t *testing.T, text string) {
		if got := ranFor(text); got < 0 {
			t.Errorf("ranFor(%q) = %d", text, got)
		}
	})
}

func TestRegistry(t *testing.T) {
	dir := t.TempDir()
	if got := registry(dir); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
	at := filepath.Join(dir, "carrel")
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a1.json": `{"id":"a1","name":"one","pid":7,"start":1}`, "b2.json": "{", "a1.sock": ""} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := registry(dir), []entry{{ID: "a1", Name: "one", PID: 7}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if _, err := dialDesk(dir, "two"); err == nil {
		t.Error("a workspace was found that is not there")
	}
}

// TestAtOnce holds that each is done once, never more than n at a time, whatever fails.
func TestAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Int(), 0, 40).Draw(t, "list")
		n := rapid.IntRange(1, 6).Draw(t, "n")
		var mu sync.Mutex
		var done []int
		now, bad := 0, errors.New("odd")
		err := atOnce(n, list, func(v int) error {
			mu.Lock()
			if now++; now > n {
				t.Errorf("%d at once", now)
			}
			mu.Unlock()
			mu.Lock()
			defer mu.Unlock()
			now--
			done = append(done, v)
			if v%2 != 0 {
				return bad
			}
			return nil
		})
		odd := slices.ContainsFunc(list, func(v int) bool { return v%2 != 0 })
		if errors.Is(err, bad) != odd {
			t.Errorf("error %v, odd %t", err, odd)
		}
		slices.Sort(list)
		slices.Sort(done)
		if !slices.Equal(list, done) {
			t.Errorf("done %v of %v", done, list)
		}
	})
}

func TestOver(t *testing.T) {
	tb := table{unit: "ms", rows: []row{{name: "a", sum: summary{median: 3}}, {name: "b", sum: summary{median: 1.5}}}}
	tb.over("a", "b", 1.5, "x")
	tb.over("a", "b", 1, "x")
	tb.over("a", "b", 0, "x")
	tb.over("a", "c", 1, "x")
	want := "x: **+1.50 ms**, to reach +1.5: met|x: **+1.50 ms**, to reach +1: not met|x: **+1.50 ms**|x: not measured"
	if got := strings.Join(tb.verdicts, "|"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
