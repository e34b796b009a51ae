//go:build unix

package agents

import (
	"errors"
	"testing"
)

// TestMirrorAdds: one file of the copy has more than the host's, and the host's stays.
func TestMirrorAdds(t *testing.T) {
	s := newSides(t)
	const file = ".gemini/settings.json"
	s.places.Added = file
	s.places.Add = func(text []byte) ([]byte, error) { return append([]byte("more+"), text...), nil }
	s.in("gemini")
	s.wantInside(file, "more+")
	s.wantHost(file, "-")

	s.host(file, "mine")
	s.in("gemini")
	s.wantInside(file, "more+mine")
	s.inside(file, "changed inside")
	s.in("gemini")
	s.wantInside(file, "more+mine")
	s.wantHost(file, "mine")

	s.places.Add = func([]byte) ([]byte, error) { return nil, errors.New("line 1 is wrong") }
	_, notes := s.in("gemini")
	s.wantInside(file, "mine")
	wantNote(t, notes, "line 1 is wrong")
}
