package reviewop_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli"
	"carrel/internal/config"
	"carrel/internal/op"
	"carrel/internal/op/reviewop"
	"carrel/internal/review"
	"carrel/internal/statedir"

	"golang.org/x/sys/unix"
)

// TestMain makes the test binary the program itself where it is started as one, by whatever name.
func TestMain(m *testing.M) {
	if !strings.HasSuffix(os.Args[0], ".test") {
		os.Exit(cli.Main(os.Args))
	}
	os.Exit(m.Run())
}

// place is a home with a project, over which a layer lies.
type place struct {
	*testing.T
	home, project string
	c             *op.Caller
	reviews       *reviewop.Reviews
	told          []string
	id, upper     string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	parent := "/var/lib" // not in /tmp, which is private inside
	if os.Getuid() != 0 {
		var err error
		if parent, err = os.UserCacheDir(); err != nil {
			t.Fatal(err)
		}
	}
	base, err := os.MkdirTemp(parent, "carrel-review-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	p := &place{T: t, home: base + "/home", project: base + "/home/project"}
	p.ok(os.MkdirAll(p.project+"/d", 0o700), os.MkdirAll(base+"/run", 0o700))
	p.write(p.project, map[string]string{"a": "one", "b": "one", "d/x": "one"})
	p.c = &op.Caller{
		Dir: p.project, Environ: []string{"HOME=" + p.home, "XDG_RUNTIME_DIR=" + base + "/run", "PATH=/usr/bin:/bin", "LANG=C.UTF-8"},
		Ceilings: func() ([]config.CeilingText, error) { return []config.CeilingText{}, nil },
		Notice:   func(text string) { p.told = append(p.told, text) },
	}
	p.reviews, err = reviewop.Open(p.c)
	p.ok(err)
	return p
}

func (p *place) ok(errs ...error) {
	p.Helper()
	for _, err := range errs {
		if err != nil {
			p.Fatal(err)
		}
	}
}

func (p *place) write(dir string, files map[string]string) {
	p.Helper()
	for name, text := range files {
		p.ok(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
}

func (p *place) holds(name, text string) {
	p.Helper()
	if got, err := os.ReadFile(filepath.Join(p.project, name)); err != nil || string(got) != text {
		p.Errorf("%s holds %q, %v, want %q", name, got, err, text)
	}
}

// layer makes one, with files in it.
func (p *place) layer(files map[string]string) {
	p.Helper()
	s, err := statedir.Open(p.home + "/.local/state/carrel")
	p.ok(err)
	m := review.Meta{Project: api.Text(p.project), Trees: []api.Text{api.Text(p.project)}, Command: []api.Text{"make"}}
	l, err := review.OpenStore(s.Project(p.project)).Make(m, func(string) {})
	p.ok(err)
	defer l.Close()
	p.id, p.upper = l.ID, l.Upper(0)
	p.write(p.upper, files)
	p.ok(l.Finish(0, false))
}

func (p *place) apply(q reviewop.ApplyRequest) *reviewop.Applied {
	p.Helper()
	done, err := p.reviews.Apply(context.Background(), &q)
	p.ok(err)
	return done
}

// TestApply: changes are made in a workspace of the project, whose policy refuses some of them;
// what was made is gone from the layer.
func TestApply(t *testing.T) {
	p := newPlace(t)
	p.layer(map[string]string{"a": "two", "d/x": "two", ".vscode/tasks.json": "{}", "new/n": "two"})
	p.ok(unix.Mknod(p.upper+"/b", unix.S_IFCHR, 0))
	done := p.apply(reviewop.ApplyRequest{ID: p.id, Paths: []string{"d"}})
	if len(done.Applied) != 1 || len(done.Failed) > 0 || len(done.Steps) != 1 || done.Dropped {
		t.Errorf("%+v", done)
	}
	p.holds("d/x", "two")
	p.holds("a", "one")
	done = p.apply(reviewop.ApplyRequest{})
	if len(done.Failed) != 2 || !strings.HasSuffix(string(done.Failed[0].Path), ".vscode") || !strings.Contains(done.Failed[0].Why,
		"policy refuses") || done.Left != 2 {
		t.Errorf("%+v", done)
	}
	p.holds("a", "two")
	p.holds("new/n", "two")
	for _, name := range []string{".vscode", "b"} {
		if _, err := os.Lstat(p.project + "/" + name); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	p.ok(os.RemoveAll(p.upper + "/.vscode"))
	p.write(p.upper, map[string]string{"a": "three"})
	if done = p.apply(reviewop.ApplyRequest{Force: true}); !done.Dropped || done.Left != 0 {
		t.Errorf("%+v", done)
	}
	p.holds("a", "three")
	if list, err := p.reviews.List(); err != nil || len(list) > 0 {
		t.Errorf("%+v %v", list, err)
	}
}

// TestApplyChoosesAndLooks: what a person does not choose stays, and a look changes nothing.
func TestApplyChoosesAndLooks(t *testing.T) {
	p := newPlace(t)
	p.layer(map[string]string{"a": "two", "b": "two"})
	if done := p.apply(reviewop.ApplyRequest{Dry: true}); len(done.Applied) != 2 || len(done.Steps) > 0 {
		t.Errorf("%+v", done)
	}
	stop := errors.New("stop")
	if _, err := p.reviews.Apply(context.Background(), &reviewop.ApplyRequest{Choose: func(*reviewop.Change) (bool,
		error) {
		return false, stop
	}}); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	p.holds("a", "one")
	p.apply(reviewop.ApplyRequest{Choose: func(c *reviewop.Change) (bool, error) { return strings.HasSuffix(string(c.Path), "/b"), nil }})
	p.holds("a", "one")
	p.holds("b", "two")
	if _, err := p.reviews.Apply(context.Background(), &reviewop.ApplyRequest{Skip: true, Force: true}); err == nil {
		t.Error("two ways at once")
	}
	d, err := p.reviews.Diff("", nil)
	p.ok(err)
	defer d.Close()
	if was, now, err := d.Contents(0, 10); err != nil || len(d.Changes) != 1 || string(was) != "one" || string(now) != "two" ||
		d.Detail(0) != "" {
		t.Errorf("%+v: %q %q %v", d.Changes, was, now, err)
	}
	if _, err := p.reviews.Diff("", []string{"b"}); err == nil {
		t.Error("a path that is not changed, and a layer that is in use")
	}
}

// TestDrop: a layer that is dropped is gone, and the project as it was.
func TestDrop(t *testing.T) {
	p := newPlace(t)
	p.layer(map[string]string{"a": "two"})
	p.ok(os.WriteFile(filepath.Join(filepath.Dir(filepath.Dir(p.upper)), "../000000"), nil, 0o600))
	p.ok(p.reviews.Drop(p.id))
	p.holds("a", "one")
	var refused *api.Denial
	if err := p.reviews.Drop(p.id); !errors.As(err, &refused) || refused.Code != api.CodeNoLayer {
		t.Errorf("%v", err)
	}
}
