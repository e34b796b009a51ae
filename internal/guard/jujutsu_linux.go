package guard

import (
	"path"
	"strings"

	"carrel/internal/broker"
)

// jujutsu decides a change of what leads Jujutsu elsewhere; false for any other change.
// ".jj/repo" is a directory, or says where one is, of which the configuration runs
// programs. "git_target" in the store says where a git directory is.
func jujutsu(d *Guard, ch *broker.Change, at string) (broker.Verdict, bool) {
	switch base := path.Base(at); {
	case strings.EqualFold(base, "repo"), strings.EqualFold(base, "store"), strings.EqualFold(base, "git_target"):
	default:
		return broker.Verdict{}, false
	}
	low := at
	if d.folds(at) {
		low = strings.ToLower(at)
	}
	repo, target := strings.HasSuffix(low, "/.jj/repo"), strings.HasSuffix(low, "/.jj/repo/store/git_target")
	store := strings.HasSuffix(low, "/.jj/repo/store") && carries(ch, at)
	if !repo && !target && !store || ch.Asked || d.c.Exactly || d.c.Restoring {
		return broker.Verdict{}, false
	}
	v := refusal(at, "protected name: it leads Jujutsu elsewhere", "default", at)
	switch ch.Op {
	case broker.OpMkdir, broker.OpUnlink, broker.OpRmdir, broker.OpChmod, broker.OpChown, broker.OpUtimes, broker.OpSetxattr, broker.OpIoctl:
		return broker.Verdict{}, false
	case broker.OpCreate, broker.OpOpen:
		v.Allowed = target
	case broker.OpRename:
		if at == ch.Path {
			return broker.Verdict{}, false
		}
		v.Allowed = target && ch.Kind == broker.KindFile
	}
	switch {
	case repo && strings.Contains(d.c.relative(at), "/.jj/"):
		d.list(ch, at) // as its configuration would be
		return broker.Verdict{}, false
	case v.Allowed:
		v.Vet = func(_, after []byte) error { return gitTarget(d, path.Dir(at), strings.TrimSpace(string(after))) }
	}
	return v, true
}

// gitTarget says why the store of a repository of Jujutsu may not name a git directory. Git
// works for it in the working tree around the repository, as if a .git file led there.
func gitTarget(d *Guard, store, to string) error {
	if to == "" {
		return nil
	}
	tree := path.Dir(path.Dir(path.Dir(store)))
	if !path.IsAbs(to) {
		to = store + "/" + to
	}
	if to = path.Clean(to); tree == d.c.treeOfOwn() && (to == d.c.Git.Dir || to == d.c.Git.Common) {
		return nil // what that names is held
	}
	return d.points(tree, "", "gitdir: "+to)
}
