package workspace

import (
	"errors"
	"os"
	"path"
	"slices"
	"strings"

	"carrel/internal/broker"
	"carrel/internal/protect"

	"golang.org/x/sys/unix"
)

// brings says why a link, or a directory from elsewhere, may not come into a git
// directory: git outside would write where the link leads. "" for all others.
func (d *decider) brings(ch *broker.Change, at string) string {
	if !carries(ch, at) || d.exactly {
		return ""
	}
	dir := d.gitAround(at)
	if dir == "" || probe(ch, at) && path.Dir(at) == d.bornAround(at) {
		return ""
	}
	moved := ch.Kind
	if ch.Op == broker.OpExchange && at == ch.Path {
		moved = ch.Over
	}
	from := ch.Path
	if at == ch.Path {
		from = ch.To
	}
	switch {
	case ch.Op == broker.OpSymlink, moved == broker.KindSymlink:
		return "git would write where a link leads"
	case moved == broker.KindDir && !within(from, dir):
		return "git would write where links in a directory lead"
	}
	return ""
}

// takes says why a directory may not be moved: what it says of places relative to its own
// would lead elsewhere. "" for all others.
func (d *decider) takes(ch *broker.Change, at string) string {
	kind, to := ch.Kind, ch.To
	if ch.Op == broker.OpExchange && at == ch.To {
		kind, to = ch.Over, ch.Path
	}
	if d.exactly || kind != broker.KindDir || ch.Op != broker.OpExchange && (ch.Op != broker.OpRename || at != ch.Path) {
		return ""
	}
	if dir := d.gitAround(at); dir != "" && !within(to, dir) {
		return "a directory of it stays in it"
	}
	if holds(at, "")("commondir") {
		return "the repository that a worktree belongs to is where it says"
	}
	entries, err := os.ReadDir(at)
	if path.Base(at) != "worktrees" || path.Base(to) == "worktrees" && errors.Is(err, unix.ENOENT) {
		return ""
	}
	if err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return holds(at+"/"+e.Name(), "")("commondir") }) {
		return "the repository that worktrees belong to is where they say"
	}
	return ""
}

// gitAround gives the outermost git directory that a path lies in, "" for none.
func (d *decider) gitAround(at string) string {
	fold := d.folds(at)
	named, bare := "", ""
	for dir := path.Dir(at); len(dir) > 1; dir = path.Dir(dir) {
		if rule, ok := protect.Component(path.Base(dir), fold); ok && strings.HasPrefix(rule, ".git:") {
			named = dir
		}
	}
	if named != "" {
		return named
	}
	for dir := path.Dir(at); len(dir) > 1 && slices.ContainsFunc(d.roots, func(r string) bool { return within(dir, r) }); dir = path.Dir(dir) {
		if d.bears(dir) || protect.BareRepository(holds(dir, "")) {
			bare = dir
		}
	}
	return bare
}
