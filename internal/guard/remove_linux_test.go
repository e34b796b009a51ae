package guard

import (
	"testing"

	"carrel/internal/broker"
)

// TestOpens: a mode that only gives the owner what a removal needs is no change of what
// git runs; any other bit is one.
func TestOpens(t *testing.T) {
	for _, c := range []struct {
		kind          broker.Kind
		before, after uint32
		want          bool
	}{
		{broker.KindDir, 0o555, 0o755, true},
		{broker.KindDir, 0, 0o700, true},
		{broker.KindDir, 0o755, 0o775, false},
		{broker.KindDir, 0o755, 0o555, false},
		{broker.KindFile, 0o444, 0o644, true},
		{broker.KindFile, 0o755, 0o755, true},
		{broker.KindFile, 0o644, 0o744, false},
		{broker.KindFile, 0o644, 0o664, false},
		{broker.KindFile, 0o755, 0o644, false},
		{broker.KindFile, 0o644, 0o4644, false},
	} {
		ch := broker.Change{Op: broker.OpChmod, Kind: c.kind, Mode: c.after, Was: broker.Seen{Mode: 0o100000 | c.before}}
		if got := opens(&ch); got != c.want {
			t.Errorf("%v from %o to %o: %v", c.kind, c.before, c.after, got)
		}
	}
	if opens(&broker.Change{Op: broker.OpChown}) {
		t.Error("another owner")
	}
}
