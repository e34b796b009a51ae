package steps

import (
	"testing"

	"carrel/internal/broker"
)

// TestEveryNameIsKept: only a file that has no name at all is nothing to the
// history, whatever names look like.
func TestEveryNameIsKept(t *testing.T) {
	for _, op := range []string{broker.OpCreate, broker.OpMkdir, broker.OpMknod, broker.OpSymlink, broker.OpBind} {
		if _, ok := historyChange(&broker.Change{Op: op, Path: "/p/#", Dir: 3, Name: "#", ToDir: -1}); !ok {
			t.Errorf("%s of a file that is called #: not kept", op)
		}
	}
	if _, ok := historyChange(&broker.Change{Op: broker.OpCreate, Path: "/p/#", Dir: -1, ToDir: -1}); ok {
		t.Error("a file without a name is kept")
	}
}
