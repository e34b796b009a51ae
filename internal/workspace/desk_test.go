package workspace

import (
	"bytes"
	"testing"

	"carrel/internal/policy"
)

// TestCeilingWithoutPlaces: a ceiling that stands on other lines of its file is the same
// one; another value is another one.
func TestCeilingWithoutPlaces(t *testing.T) {
	at := func(line int, memory int64, dir string) *policy.Ceiling {
		src := policy.Source{Layer: policy.LayerCeiling, File: "c.yaml", Line: line, Column: 3}
		return &policy.Ceiling{
			Memory: &policy.Value[int64]{V: memory, Source: src},
			Mounts: []policy.Mount{{HostPath: dir, Source: src}},
		}
	}
	one := withoutPlaces(at(1, 1<<60+1, "/a"))
	if two := withoutPlaces(at(7, 1<<60+1, "/a")); !bytes.Equal(one, two) {
		t.Errorf("by its place alone it is another one:\n%s\n%s", one, two)
	}
	for what, c := range map[string]*policy.Ceiling{"memory": at(1, 1<<60+2, "/a"), "a mount": at(1, 1<<60+1, "/b"), "nothing": {}} {
		if bytes.Equal(one, withoutPlaces(c)) {
			t.Errorf("with another %s it is the same", what)
		}
	}
}
