package supervisor

import (
	"strings"
	"testing"
)

// TestNoPlaceIsOneLine: where no directory can hold the socket, the reasons are one line.
func TestNoPlaceIsOneLine(t *testing.T) {
	s, err := Serve(Config{ID: "ab12", Dirs: []string{"/dev/full/a", "/dev/full/b"}})
	if err == nil {
		s.Close()
		t.Fatal("there was a place")
	}
	if text := err.Error(); strings.Contains(text, "\n") || strings.Count(text, "; open /dev/full") != 2 {
		t.Errorf("%q", text)
	}
}
