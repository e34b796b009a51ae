package guard

import (
	"errors"
	"os"
	"path"
	"slices"
	"strings"

	"carrel/internal/broker"
	"carrel/internal/pathname"
	"carrel/internal/protect"

	"golang.org/x/sys/unix"
)

// brings says why a link, or a directory from elsewhere, may not come into a git
// directory: git outside would write where the link leads. "" for all others.
func (d *Guard) brings(ch *broker.Change, at string) string {
	if !carries(ch, at) || d.c.Exactly {
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
	case moved == broker.KindDir && !pathname.Within(from, dir):
		return "git would write where links in a directory lead"
	}
	return ""
}

// takes says why a directory may not be moved: what it says of places relative to its own
// would lead elsewhere. "" for all others.
func (d *Guard) takes(ch *broker.Change, at string) string {
	kind, to := ch.Kind, ch.To
	if ch.Op == broker.OpExchange && at == ch.To {
		kind, to = ch.Over, ch.Path
	}
	if d.c.Exactly || kind != broker.KindDir || ch.Op != broker.OpExchange && (ch.Op != broker.OpRename || at != ch.Path) {
		return ""
	}
	if dir := d.gitAround(at); dir != "" && !pathname.Within(to, dir) {
		return "a directory of it stays in it"
	}
	born, old := d.bornBelow(at)
	since := d.madeSince(at) && !old
	if !since { // what came into one that was made inside was looked at on its way
		if why := d.leaves(at, to); why != "" {
			return why
		}
	}
	if !since || born {
		if err := d.indexedIn(to, at); err != nil {
			return err.Error()
		}
	}
	for _, tree := range d.ledSince(at) {
		if why := d.c.runsAfter(tree, at, to); why != "" {
			return why
		}
	}
	// One can only have been made there, see vet.
	if path.Base(path.Dir(at)) == "worktrees" && holds(at, "")("commondir") {
		return "the repository that a worktree belongs to is where it says"
	}
	if path.Base(at) != "worktrees" {
		return ""
	}
	entries, err := os.ReadDir(at)
	if err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return holds(at+"/"+e.Name(), "")("commondir") }) {
		return "the repository that worktrees belong to is where they say"
	}
	return ""
}

// gitAround gives the outermost git directory that a path lies in, "" for none.
func (d *facts) gitAround(at string) string {
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
	for dir := path.Dir(at); len(dir) > 1 && slices.ContainsFunc(d.c.Roots, func(r string) bool { return pathname.Within(dir, r) }); dir = path.Dir(dir) {
		name, _, _ := strings.Cut(at[len(dir)+1:], "/")
		if d.bears(dir) || looksBare(dir, name) {
			bare = dir
		}
	}
	return bare
}

// looksBare says whether a directory is a git directory without the name of one. Where
// that cannot be seen it is one if name, something in it, is one of git's.
func looksBare(dir, name string) bool {
	unseen := false
	bare := protect.BareRepository(func(name string) bool {
		_, err := os.Lstat(dir + "/" + name)
		unseen = unseen || err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ENOTDIR)
		return err == nil
	})
	return bare || unseen && gitsOwn(name)
}

// gitsOwn says whether git has such a name in its directories: HEAD, MERGE_MSG, logs.
func gitsOwn(name string) bool {
	if strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" {
		return true
	}
	switch name {
	case "config", "config.worktree", "commondir", "gitdir", "hooks", "info", "logs", "refs", "objects", "index", "packed-refs", "shallow", "description",
		"branches", "remotes", "modules", "worktrees", "rebase-merge", "rebase-apply", "sequencer", "lfs", "rr-cache", "reftable", "gc.log", "gc.pid":
		return true
	}
	return false
}
