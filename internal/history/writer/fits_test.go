package writer

import (
	"strings"
	"testing"
)

// TestNamesOfAnyLength: what would be too long to be written down when the step ends
// does not happen.
func TestNamesOfAnyLength(t *testing.T) {
	tr := newTree([]string{"/p"})
	tr.find("/p/d/f")
	at := "/p/d"
	for n := 1; ; n++ {
		to := "/p/" + strings.Repeat("x/", 10_000*n) + "d"
		err := tr.fits(tr.find(at), at, to)
		if n == 1 && err != nil {
			t.Fatal(err)
		}
		if err != nil {
			break
		}
		if n > 5 {
			t.Fatal("there is no end")
		}
		from := tr.find(at)
		tr.find(to).moved(from)
		at = to
	}
	if err := tr.fits(tr.find("/p/g"), "/p/g", strings.Repeat("/x", 50_000)); err != nil {
		t.Errorf("a name with nothing below it: %v", err)
	}
}
