package histories

import (
	"strings"
	"testing"

	"carrel/internal/config"
	"carrel/internal/policy"
)

// TestTotalBytes: the limit of all histories, by what the configuration says.
func TestTotalBytes(t *testing.T) {
	said := func(n int64) *policy.Value[int64] { return &policy.Value[int64]{V: n} }
	for _, c := range []struct {
		total, one *policy.Value[int64]
		want       int64
	}{
		{nil, nil, 10 << 30}, {nil, said(1 << 30), 10 << 30}, {nil, said(50 << 30), 50 << 30}, {nil, said(0), 0},
		{said(1 << 30), nil, 1 << 30}, {said(1 << 30), said(50 << 30), 1 << 30}, {said(1 << 30), said(0), 1 << 30}, {said(0), said(1), 0},
	} {
		l := &config.Loaded{}
		l.Settings.History.MaxTotalBytes, l.Settings.History.MaxBytes = c.total, c.one
		if got := TotalOf(l); got != c.want {
			t.Errorf("total %v, one %v: %d, want %d", c.total, c.one, got, c.want)
		}
	}
}

// TestShrunkNotes: what went is one line; other projects are named only where they may be.
func TestShrunkNotes(t *testing.T) {
	many := shrunk{projects: []string{`"/a"`, `"/b"`, `"/c"`, `"/d"`, `"/e"`}, steps: []int{1, 2, 3, 4, 5}}
	for _, c := range []struct {
		of    shrunk
		named bool
		want  string
	}{
		{shrunk{}, true, ""},
		{shrunk{over: 7}, true, "are 7 bytes beyond history.max_total_bytes: newest steps and projects in use are kept"},
		{shrunk{projects: many.projects[:1], steps: []int{3}}, true, `old steps are discarded, 3 of "/a";`},
		{shrunk{projects: many.projects[:1], steps: []int{3}, over: 7}, true, `7 bytes beyond history.max_total_bytes, though old steps`},
		{shrunk{projects: many.projects[:1], steps: []int{3}}, false, "old steps are discarded, 3 of 1 other project;"},
		{many, true, `old steps are discarded, 1 of "/a", 2 of "/b", 3 of "/c", 9 of 2 other projects;`},
		{many, false, "old steps are discarded, 15 of 5 other projects;"},
	} {
		got := strings.Join(c.of.notes(c.named), "\n")
		if !strings.Contains(got, c.want) || c.want == "" && got != "" || strings.Contains(got, "\n") || !c.named && strings.Contains(got, "/") {
			t.Errorf("%+v, named %v: %q, want %q", c.of, c.named, got, c.want)
		}
	}
}
