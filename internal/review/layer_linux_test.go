package review

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/api"
)

// TestStore: layers are listed, the newest first, found by what their ids begin with, and held by
// one at a time.
func TestStore(t *testing.T) {
	l := over(t, map[string]string{"a": "a"})
	first := l.layer
	if _, err := l.store.Open(first.ID); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a layer that is held: %v", err)
	}
	if found, err := l.store.Find(first.ID[:4]); err != nil || !found.InUse() {
		t.Errorf("%v", err)
	}
	l.ok(first.Finish(3, true))
	first.Close()
	later()
	l.begin()
	all, broken, err := l.store.List()
	if err != nil || len(broken) > 0 || len(all) != 2 || all[0].ID != l.layer.ID || all[1].Exit != 3 || !all[1].Full ||
		all[1].Ended == nil || all[0].Ended != nil {
		t.Errorf("%+v %v %v", all, broken, err)
	}
	l.layer.Close()
	newest, err := l.store.Open("")
	if err != nil || newest.ID != l.layer.ID {
		t.Fatalf("the newest: %v", err)
	}
	l.ok(newest.Remove())
	if _, err := l.store.Open(newest.ID); !errors.Is(err, ErrNone) {
		t.Errorf("a layer that was removed: %v", err)
	}
	if err := (&Layer{}).Remove(); err == nil {
		t.Error("a layer that nobody holds is removed")
	}
	if _, err := first.Changes(); err == nil {
		t.Error("a layer that nobody holds is compared")
	}
	if err := first.Script(new(Diff), nil, nil); err == nil {
		t.Error("a layer that nobody holds is applied")
	}
	if _, err := OpenStore(l.tree + "/none").Find(""); !errors.Is(err, ErrNone) {
		t.Errorf("a store that is not there: %v", err)
	}
}

// TestBrokenRecords: a record that is no record of this layer is told, and hides no other.
func TestBrokenRecords(t *testing.T) {
	l := over(t, nil)
	for id, text := range map[string]string{"000001": "{}", "000002": "no JSON",
		"000003": `{"version":1,"id":"000004","trees":["/x"]}`, "000005": `{"version":1,"version":1}`} {
		dir := filepath.Join(l.store.dir, id)
		l.ok(os.Mkdir(dir, 0o700), os.WriteFile(dir+"/"+metaName, []byte(text), 0o600))
	}
	l.ok(os.Mkdir(l.store.dir+"/000006", 0o700), os.Symlink(l.layer.dir+"/"+metaName, l.store.dir+"/000006/"+metaName),
		os.Mkdir(l.store.dir+"/other", 0o700))
	all, broken, err := l.store.List()
	if err != nil || len(all) != 1 || len(broken) != 5 {
		t.Errorf("%d layers, %v, %v", len(all), broken, err)
	}
	l.ok(l.store.Drop("000001"), l.store.Drop("000002"))
	if err := l.store.Drop(l.layer.ID); err == nil {
		t.Error("a layer that is in use is dropped")
	}
	for _, id := range []string{"000001", "../000003", "other", ""} {
		if err := l.store.Drop(id); !errors.Is(err, ErrNone) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// TestBoundOfLayers: there are so many of a project, and what a removal has left goes.
func TestBoundOfLayers(t *testing.T) {
	l := over(t, nil)
	gone := filepath.Join(l.store.dir, "abcdef"+goneSuffix)
	l.ok(os.MkdirAll(gone+"/closed", 0), nil)
	for range maxLayers - 1 {
		l.begin()
	}
	if _, err := os.Lstat(gone); err == nil {
		t.Error("what a removal left is there still")
	}
	_, err := l.store.Make(Meta{Trees: l.layer.Trees}, nil)
	if err == nil || !strings.Contains(err.Error(), "review drop") {
		t.Errorf("%v", err)
	}
}

// TestFailedBeginning: nothing stays of a layer that could not be made.
func TestFailedBeginning(t *testing.T) {
	s := OpenStore(realTemp(t))
	if _, err := s.Make(Meta{Trees: nil}, nil); err == nil {
		t.Error("a layer over nothing")
	}
	if _, err := s.Make(Meta{Trees: []api.Text{"/nothing/there"}}, func(string) {}); err == nil {
		t.Error("a layer over what is not there")
	}
	if all, broken, err := s.List(); len(all)+len(broken) > 0 || err != nil {
		t.Errorf("%v %v %v", all, broken, err)
	}
}

// TestBytes: what a layer takes grows with what is in it.
func TestBytes(t *testing.T) {
	l := over(t, nil)
	before, err := l.layer.Bytes()
	l.ok(err)
	l.upper(map[string]string{"d/f": strings.Repeat("x", 1<<20)})
	l.ok(os.Link(l.at("d/f"), l.at("d/g")))
	after, err := l.layer.Bytes()
	if err != nil || after-before < 1<<20 || after-before > 1<<20+1<<17 {
		t.Errorf("%d, before %d: %v", after, before, err)
	}
}
