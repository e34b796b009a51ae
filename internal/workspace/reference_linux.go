package workspace

import (
	"carrel/internal/broker"
	"carrel/internal/protect"
)

// reference decides a change of a reference of git by what it would then hold; false for
// any other change.
func (d *decider) reference(ch *broker.Change, at string) (broker.Verdict, bool) {
	rel := d.relative(at)
	renamed := (ch.Op == broker.OpRename || ch.Op == broker.OpExchange) && (ch.Kind == broker.KindDir || ch.Over == broker.KindDir)
	if !protect.Reference(rel, d.folds(at)) && !(renamed && protect.Reference(rel+"/x", d.folds(at))) || ch.Asked || d.exactly || d.restoring || d.gitAround(at) == "" {
		return broker.Verdict{}, false
	}
	v := d.refusal(at, "in a git directory: a reference", "default", at)
	switch ch.Op {
	case broker.OpCreate, broker.OpOpen:
		v.Allowed, v.Vet = true, d.worktree.vetReference(at)
	case broker.OpRename, broker.OpExchange:
		switch {
		case ch.Op == broker.OpRename && at == ch.Path:
			return broker.Verdict{}, false
		case renamed && protect.Reference(d.relative(ch.Path)+"/x", d.folds(ch.Path)) && protect.Reference(d.relative(ch.To)+"/x", d.folds(ch.To)):
			return broker.Verdict{}, false // what is in it was judged
		case renamed:
			v.Rule = "in a git directory: references come one by one"
		case ch.Op == broker.OpRename && ch.Kind == broker.KindFile:
			v.Allowed, v.Vet = true, d.worktree.vetReference(at)
		}
	case broker.OpLink:
		v.Rule = "in a git directory: a reference has one name"
	default:
		return broker.Verdict{}, false
	}
	return v, true
}
