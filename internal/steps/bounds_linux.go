package steps

import (
	"fmt"
	"time"

	"carrel/internal/broker"
	"carrel/internal/config"
	"carrel/internal/guard"
	"carrel/internal/history"
	"carrel/internal/policy"
)

// bounds are the user's safeguards: how much one step may destroy of what was
// there before it.
type bounds struct {
	ask                     bool
	removed, replaced       int64 // files
	removedBytes, overBytes int64
	within                  time.Duration
	always                  *policy.Effective // denies what is always asked for; nil for nothing
}

// What holds where the user says nothing.
const (
	usualFiles = 1000
	usualBytes = 1 << 30
)

// newBounds takes them from the configuration; scope is what places in it are relative to.
func newBounds(s *config.Safeguards, scope policy.Scope) (bounds, error) {
	b := bounds{
		ask: s.Then != nil && s.Then.V == "ask", within: AnswerTime,
		removed: said(s.RemovedFiles, usualFiles), replaced: said(s.ReplacedFiles, usualFiles),
		removedBytes: said(s.RemovedBytes, usualBytes), overBytes: said(s.OverwrittenBytes, usualBytes),
	}
	if s.AnswerWithin != nil && s.AnswerWithin.V > 0 {
		b.within = s.AnswerWithin.V
	}
	var err error
	if len(s.AlwaysAsk) > 0 {
		b.always, err = policy.Decide(scope, nil, []policy.Layer{
			{Kind: policy.LayerUser, Name: "safeguards", Request: policy.Request{Files: s.AlwaysAsk}}, policy.Defaults(policy.Human),
		})
	}
	return b, err
}

func said(v *policy.Value[int64], otherwise int64) int64 {
	if v == nil {
		return otherwise
	}
	return v.V
}

// alwaysAsked says whether a change destroys something that is never destroyed
// without a question, or takes its name away or gives it another by which that
// could be done unasked; and by which rule.
func (b *bounds) alwaysAsked(ch *broker.Change) (at, why string) {
	if b.always == nil {
		return "", ""
	}
	switch ch.Op {
	case broker.OpOpen, broker.OpTruncate, broker.OpUnlink, broker.OpLink:
		return b.asked(ch.Path, ch.Kind, ch.Dir, ch.Name)
	case broker.OpRename, broker.OpExchange:
		if at, why = b.asked(ch.Path, ch.Kind, ch.Dir, ch.Name); at == "" {
			at, why = b.asked(ch.To, ch.Over, ch.ToDir, ch.ToName)
		}
	}
	return at, why
}

// asked finds what is asked for at a path, or in the directory that is there.
func (b *bounds) asked(path string, kind broker.Kind, dir int, name string) (at, why string) {
	switch kind {
	case broker.KindNone, broker.KindOther:
		return "", ""
	case broker.KindFile, broker.KindSymlink:
		if d := b.always.Lookup(path); asks(d) {
			return path, guard.RuleText(d.Rule)
		}
		return "", ""
	}
	stand, ok := b.always.Stand(path)
	if !ok {
		return path, "no rule can be found for it"
	}
	p := guard.Pair{From: stand, To: stand, Name: path}
	hit, err := guard.Below(dir, name, p, func(p *guard.Pair) bool { return p.From.Open() }, func(p *guard.Pair) bool { return asks(p.From.Decision()) })
	switch {
	case err != nil:
		return path, "it cannot be searched for what is asked for: " + err.Error()
	case hit != nil:
		return hit.Name, guard.RuleText(hit.From.Decision().Rule)
	}
	return "", ""
}

func asks(d policy.Decision) bool { return d.Access == policy.Deny && d.Rule != nil }

// passed says which bound has been passed, "" for none. How far does not matter: it is said
// once, by the change that passes it.
func (b *bounds) passed(t history.Tally) string {
	for _, one := range []struct {
		n, most int64
		what    string
	}{
		{int64(t.Removed), b.removed, "more than %d files removed, which safeguards.removed_files sets"},
		{int64(t.Replaced), b.replaced, "more than %d files replaced, which safeguards.replaced_files sets"},
		{t.RemovedBytes, b.removedBytes, "more than %d bytes removed, which safeguards.removed_bytes sets"},
		{t.OverwrittenBytes, b.overBytes, "more than %d bytes opened for writing, which safeguards.overwritten_bytes sets"},
	} {
		if one.most > 0 && one.n > one.most {
			return fmt.Sprintf(one.what, one.most)
		}
	}
	return ""
}
