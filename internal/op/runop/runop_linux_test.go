package runop

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/decide"
	"carrel/internal/policy"
	"carrel/internal/review"
	"carrel/internal/statedir"
)

// place is a home with a project in it.
type place struct {
	t             *testing.T
	home, project string
	environ       []string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, home: home + "/home", project: home + "/home/project"}
	p.ok(os.MkdirAll(p.project, 0o700), os.MkdirAll(home+"/run", 0o700))
	p.environ = []string{"HOME=" + p.home, "XDG_RUNTIME_DIR=" + home + "/run", "PATH=/usr/bin:/bin"}
	return p
}

func (p *place) ok(errs ...error) {
	p.t.Helper()
	for _, err := range errs {
		if err != nil {
			p.t.Fatal(err)
		}
	}
}

// layers are those of the project.
func (p *place) layers() []*review.Layer {
	p.t.Helper()
	list, _, err := review.OpenStore(statedir.At(p.home + "/.local/state/carrel").Project(p.project)).List()
	p.ok(err)
	return list
}

// decided is what a run with flags would be.
func (p *place) decided(mode policy.HistoryMode, write ...string) *decide.Decision {
	p.t.Helper()
	said := policy.Source{Layer: policy.LayerCommandLine, Text: "--test"}
	flags := policy.Request{History: &policy.Value[policy.HistoryMode]{V: mode, Source: said}}
	for _, w := range write {
		flags.Files = append(flags.Files, policy.FileRequest{Place: w, Access: policy.Write, Source: said})
	}
	d, err := decide.Prepare(decide.Request{Argv: []string{"true", "\xff"}, Flags: flags, Default: policy.Agent, Environ: p.environ,
		Cwd: p.project, Ceilings: []config.CeilingText{}})
	p.ok(err)
	return d
}

// TestBegin: a draft gets a layer over each place that may be written, and nothing else gets one.
func TestBegin(t *testing.T) {
	p := newPlace(t)
	if r, err := begin(p.decided(policy.HistoryOn)); r != nil || err != nil {
		t.Errorf("%v %v", r, err)
	}
	p.ok(os.WriteFile(p.project+"/a", []byte("a"), 0o600), os.Mkdir(p.home+"/other", 0o700))
	d := p.decided(policy.HistoryDraft, p.home+"/other")
	r, err := begin(d)
	p.ok(err)
	var trees []string
	for _, l := range d.Layers {
		trees = append(trees, l.Path)
		if !l.Kept || l.Lower != l.Path || !strings.HasPrefix(l.Upper, p.home+"/.local/state/carrel/projects/") {
			t.Errorf("%+v", l)
		}
	}
	if !slices.Equal(trees, []string{p.home + "/other", p.project}) || !slices.Equal(r.layer.Granted, []api.Text{api.Text(p.home +
		"/other")}) {
		t.Errorf("%q, %q granted", trees, r.layer.Granted)
	}
	list := p.layers()
	if len(list) != 1 || list[0].Ended != nil || list[0].Command[1] != "\xff" {
		t.Errorf("%+v", list)
	}
	p.ok(os.WriteFile(r.layer.Upper(1)+"/a", []byte("b"), 0o600), os.WriteFile(r.layer.Upper(0)+"/n", nil, 0o600))
	left, err := r.finish(3)
	if err != nil || left.Added != 1 || left.Modified != 1 || left.ID == "" || left.Full {
		t.Errorf("%+v %v", left, err)
	}
	if _, err := r.finish(3); err == nil {
		t.Error("it ends twice")
	}
	if again, err := begin(p.decided(policy.HistoryDraft)); err != nil {
		t.Error(err)
	} else if left, err := again.finish(0); err != nil || left.ID != "" {
		t.Errorf("of a run that changed nothing: %+v %v", left, err)
	}
	if list := p.layers(); len(list) != 1 || list[0].Exit != 3 {
		t.Errorf("%+v", list)
	}
}

// TestNoLayerOver: a file, and a place that holds the layers themselves.
func TestNoLayerOver(t *testing.T) {
	p := newPlace(t)
	p.ok(os.WriteFile(p.home+"/file", nil, 0o600), os.MkdirAll(p.home+"/.local/state/carrel", 0o700))
	for place, want := range map[string]string{p.home + "/file": "a layer lies over directories", p.home +
		"/.local": "the layer would lie in"} {
		if r, err := begin(p.decided(policy.HistoryDraft, place)); r != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", place, err)
		}
	}
}

// TestBoundEndsTheRun: a run whose layer takes more than its bound is ended.
func TestBoundEndsTheRun(t *testing.T) {
	p := newPlace(t)
	d := p.decided(policy.HistoryDraft)
	r, err := begin(d)
	p.ok(err)
	r.cancel()
	<-r.done
	r.until, r.cancel = context.WithCancel(context.Background())
	r.done, r.layer.Bound = make(chan struct{}), 4<<20
	go r.watch(p.home)
	select {
	case <-r.until.Done():
		t.Fatal("an empty layer is full")
	case <-time.After(2 * pollTime):
	}
	p.ok(os.WriteFile(r.layer.Upper(0)+"/big", make([]byte, 16<<20), 0o600))
	select {
	case <-r.until.Done():
	case <-time.After(2 * pauseTime):
		t.Fatal("the run goes on")
	}
	if left, err := r.finish(143); err != nil || !left.Full {
		t.Errorf("%+v %v", left, err)
	}
	if list := p.layers(); len(list) != 1 || !list[0].Full {
		t.Errorf("%+v", list)
	}
}

// TestBound: a place that is not there has no room, and what is free bounds a layer.
func TestBound(t *testing.T) {
	if _, err := bound("/nothing/there"); err == nil {
		t.Error("a place that is not there has room")
	}
	free, err := freeBytes(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if most, err := bound(t.TempDir()); err == nil && (most > maxBytes || most > free) {
		t.Errorf("%d of %d", most, free)
	}
}
