package guard

import (
	"fmt"
	"path"
	"strings"

	"carrel/internal/broker"
)

// opens says whether a change of a mode takes nothing away and gives the owner no more than
// reading and writing, and searching of a directory: "chmod -R u+w" comes before the removal
// of what was read-only. A program cannot be started by it, and no other user gains anything.
func opens(ch *broker.Change) bool {
	given := uint32(0o600)
	if ch.Kind == broker.KindDir {
		given = 0o700
	}
	before, after := ch.Was.Mode&0o7777, ch.Mode&0o7777
	return ch.Op == broker.OpChmod && before&^after == 0 && after&^before&^given == 0
}

// movesTree decides a write of the file by which a repository finds one of its worktrees:
// "git worktree move" and "git worktree repair" write there. A worktree stays in the
// project; false for any other change.
func movesTree(d *Guard, ch *broker.Change, at string) (broker.Verdict, bool) {
	if path.Base(at) != "gitdir" || path.Base(path.Dir(path.Dir(at))) != "worktrees" || d.c.own(at) {
		return broker.Verdict{}, false
	}
	switch ch.Op {
	case broker.OpOpen, broker.OpCreate:
	case broker.OpRename:
		if at == ch.Path || ch.Kind != broker.KindFile {
			return broker.Verdict{}, false
		}
	default:
		return broker.Verdict{}, false
	}
	v := refusal(at, "protected name: git finds a worktree by it", "default", at)
	v.Allowed, v.Vet = true, func(before, after []byte) error {
		if err := d.vet(at, "gitdir", nil, before); err != nil {
			return fmt.Errorf("it was outside of the project: %w", err)
		}
		if to := strings.TrimRight(string(after), "\n"); to != "" && path.Base(to) != ".git" {
			return fmt.Errorf("%q is no working tree's", to)
		}
		return d.vet(at, "gitdir", before, after)
	}
	return v, true
}
