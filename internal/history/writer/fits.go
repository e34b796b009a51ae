package writer

import (
	"errors"
	"fmt"

	"carrel/internal/pathname"
)

// A directory can be renamed into a deep one, and that again: so what a step has
// touched can get names of any length, of which each is written down when it ends.

// Bounds of that.
const (
	maxPath  = 64 << 10 // bytes of one path
	maxPaths = 1 << 30  // bytes of all paths that one step has touched
)

var errTooDeep = errors.New("too long")

// fits says whether what the step knows below from keeps names that can be written
// down, when from gets another one.
func (t *tree) fits(from *slot, path, to string) error {
	if from.is == nil || len(from.is.names) == 0 {
		return nil
	}
	more := max(0, len(to)-len(path))
	if longest := t.longest + more; longest <= maxPath && t.slots*longest <= maxPaths {
		t.longest = longest
		return nil
	}
	longest, all := 0, 0
	t.each(func(s *slot) { // exactly
		at := s.path()
		n := len(at)
		if pathname.Within(at, path) {
			n += more
		}
		longest, all = max(longest, n), all+n
	})
	if longest > maxPath || all > maxPaths {
		return fmt.Errorf("the names of what is in %q: %w", path, errTooDeep)
	}
	t.longest = longest
	return nil
}
