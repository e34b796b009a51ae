package guard

import (
	"slices"
	"strings"

	"carrel/internal/broker"
	"carrel/internal/pathname"
)

// wholeDecider refuses what mounts would keep unchanged or at its name, where there
// are none, and asks another decider about the rest.
type wholeDecider struct {
	broker.Decider
	whole, names []string
}

// KeepWhole adds to a decider what an engine has no mounts for: whole are places that stay as
// they are, names those that only keep their name.
func KeepWhole(judge broker.Decider, whole, names []string) broker.Decider {
	return wholeDecider{judge, whole, names}
}

// Decide implements [broker.Decider].
func (d wholeDecider) Decide(ch *broker.Change) broker.Verdict {
	for _, at := range []string{ch.Path, ch.To} {
		if at == "" {
			continue
		}
		if kept := d.keeps(ch.Op, at); kept != "" {
			return broker.Verdict{Rule: "kept: " + kept, Source: "default", Hint: "--write " + kept}
		}
	}
	return d.Decider.Decide(ch)
}

// keeps gives what a change at a path would change or move.
func (d wholeDecider) keeps(op, at string) string {
	in := func(kept string) bool { return foldWithin(at, kept) }
	if i := slices.IndexFunc(d.whole, in); i >= 0 {
		return d.whole[i]
	}
	switch op {
	case broker.OpRename, broker.OpExchange, broker.OpUnlink, broker.OpRmdir:
	default:
		return ""
	}
	around := func(kept string) bool { return foldWithin(kept, at) }
	if i := slices.IndexFunc(d.whole, around); i >= 0 {
		return d.whole[i]
	}
	if i := slices.IndexFunc(d.names, around); i >= 0 {
		return d.names[i]
	}
	return ""
}

// foldWithin is within without regard to case: where a file system has none, it
// would be the same file.
func foldWithin(p, dir string) bool { return pathname.Within(strings.ToLower(p), strings.ToLower(dir)) }
