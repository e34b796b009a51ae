package startop

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/config"
	"carrel/internal/op"
	"carrel/internal/op/profileop"
)

// TestPlaces: what is decided for a caller is decided for its directory, and for that of a
// profile which has one. What is relative means the caller's. None of them is that of this process.
func TestPlaces(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	here, there := filepath.Join(home, "here"), filepath.Join(home, "there")
	for _, dir := range []string{filepath.Join(here, "seen"), filepath.Join(home, "there/seen"), filepath.Join(home, "run")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c := &op.Caller{
		Dir: here, Environ: []string{"HOME=" + home, "PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=" + filepath.Join(home, "run")},
		Ceilings: func() ([]config.CeilingText, error) { return []config.CeilingText{}, nil },
	}
	if _, err := profileop.Put(c, profileop.SaveRequest{Name: "dev", Text: []byte("cwd: ~/there\n"), From: "test"}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		w       Wish
		project string
	}{
		{"the caller's", Wish{Network: "local", Read: []string{"seen"}}, "here"},
		{"a profile's", Wish{Profile: "dev", Network: "local", Read: []string{"seen"}}, "there"},
	} {
		r, err := tt.w.Request(c)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Would(c, r)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if !strings.HasPrefix(d.Name, tt.project) {
			t.Errorf("%s: it would be %q", tt.name, d.Name)
		}
		p, err := r.prepare()
		if err != nil || p.Location().Cwd != filepath.Join(home, tt.project) {
			t.Errorf("%s: it works in %q, %v", tt.name, p.Location().Cwd, err)
		}
		policy := ""
		for _, one := range d.Policy {
			policy += one.Dimension + " " + one.Value + "\n"
		}
		if !strings.Contains(policy, "network local") || !strings.Contains(policy, filepath.Join(here, "seen")) {
			t.Errorf("%s: its policy: %s", tt.name, policy)
		}
	}
	checked, err := profileop.Check(c, "dev")
	if err != nil || string(checked.Decided.Cwd) != there {
		t.Errorf("the profile would work in %q, %v, want %q", checked.Decided.Cwd, err, there)
	}
}

// TestRefused: what no workspace can be is refused before anything is looked at.
func TestRefused(t *testing.T) {
	for _, r := range []*Request{{Passing: true}, {Purpose: strings.Repeat("x", 1<<20)}, {Name: "no/name"}} {
		if _, err := Start(t.Context(), &op.Caller{}, r); err == nil {
			t.Errorf("%.40v is started", r)
		}
		if _, err := Would(&op.Caller{}, r); err == nil {
			t.Errorf("%.40v would be started", r)
		}
	}
}
