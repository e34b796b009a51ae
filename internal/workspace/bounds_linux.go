package workspace

import (
	"fmt"
	"time"

	"carrel/internal/broker"
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

func (p *Prepared) bounds() (bounds, error) {
	s := &p.Loaded.Settings.Safeguards
	b := bounds{
		ask: s.Then != nil && s.Then.V == "ask", within: answerTime,
		removed: said(s.RemovedFiles, usualFiles), replaced: said(s.ReplacedFiles, usualFiles),
		removedBytes: said(s.RemovedBytes, usualBytes), overBytes: said(s.OverwrittenBytes, usualBytes),
	}
	if s.AnswerWithin != nil && s.AnswerWithin.V > 0 {
		b.within = s.AnswerWithin.V
	}
	var err error
	if len(s.AlwaysAsk) > 0 {
		b.always, err = policy.Decide(p.place.scope(nil), nil, []policy.Layer{
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
// without a question, and by which rule.
func (b *bounds) alwaysAsked(c *history.Change) (string, string) {
	if b.always == nil || c.Op == history.Make || c.Op == history.Link || c.Op == history.Meta {
		return "", ""
	}
	for _, at := range []string{c.Path, c.To} {
		if at == "" || c.Op == history.Rename && at == c.Path {
			continue // it only gets another name
		}
		if d := b.always.Lookup(at); d.Access == policy.Deny && d.Rule != nil {
			return at, ruleText(d.Rule)
		}
	}
	return "", ""
}

// passed says which bound a step has passed, "" for none.
func (b *bounds) passed(t history.Tally) string {
	for _, one := range []struct {
		n, most int64
		what    string
	}{
		{int64(t.Removed), b.removed, "%d files removed, safeguards.removed_files is %d"},
		{int64(t.Replaced), b.replaced, "%d files replaced, safeguards.replaced_files is %d"},
		{t.RemovedBytes, b.removedBytes, "%d bytes removed, safeguards.removed_bytes is %d"},
		{t.OverwrittenBytes, b.overBytes, "%d bytes opened for writing, safeguards.overwritten_bytes is %d"},
	} {
		if one.most > 0 && one.n > one.most {
			return fmt.Sprintf(one.what, one.n, one.most)
		}
	}
	return ""
}

// guarded holds a change to the bounds of its step. The lock of the gate is held.
func (k *keeper) guarded(ch *broker.Change, c *history.Change) error {
	if at, rule := k.bounds.alwaysAsked(c); at != "" && destroys(ch, at) {
		if err := k.guard.ask(ch, at, "safeguards.always_ask: "+rule); err != nil {
			return err
		}
	}
	why := k.bounds.passed(k.writer.Tally())
	if why == "" {
		return nil
	}
	k.mu.Lock()
	first := k.told != k.step
	k.told = k.step
	step := k.step
	k.mu.Unlock()
	if !first {
		return nil // the step has been spoken of
	}
	if k.bounds.ask {
		return k.guard.ask(ch, ch.Path, why)
	}
	k.guard.tell(fmt.Sprintf("step %d: %s", step, why))
	return nil
}

// destroys says whether there is something at a path of a change to be destroyed.
func destroys(ch *broker.Change, at string) bool {
	if at == ch.To {
		return ch.Over == broker.KindFile || ch.Over == broker.KindSymlink
	}
	return ch.Kind == broker.KindFile || ch.Kind == broker.KindSymlink
}
