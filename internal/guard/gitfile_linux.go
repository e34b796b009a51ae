package guard

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"carrel/internal/broker"
	"carrel/internal/gitconf"
	"carrel/internal/gitdir"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/protect"
	"carrel/internal/secrets"
)

// judged is how a file of a git directory is judged by what it would hold; vet is nil for
// a file that is not.
type judged struct {
	what string
	vet  func(before, after []byte) error
	most int64 // bytes that are looked at
}

// maxIndex is the longest index that is looked at, in bytes: of about half a million files.
const maxIndex = 64 << 20

// judge says how a file is judged that has a name of git's, if it lies in a git directory.
func (d *Guard) judge(at string) judged {
	rel, fold := d.c.inLogs(at), d.folds(at)
	switch {
	case protect.Index(rel, fold): // a branch may have that name, too
		return judged{"the index", func(before, after []byte) error {
			if !bytes.HasPrefix(after, []byte("DIRC")) { // none that git reads
				return d.worktree.vetReference(at)(before, after)
			}
			return d.vetIndexOf(path.Dir(at), before, after)
		}, maxIndex}
	case protect.Reference(rel, fold):
		return judged{"a reference", d.worktree.vetReference(at), maxVetted}
	}
	switch name, in := d.folded(path.Base(at), at), path.Base(path.Dir(at)); {
	case strings.EqualFold(name, "MERGE_RR"):
		return judged{"MERGE_RR", func(_, after []byte) error { return d.c.vetResolved(at, string(after)) }, maxVetted}
	case strings.EqualFold(in, "rebase-merge") && strings.EqualFold(name, "git-rebase-todo"):
		return judged{"what a rebase is to do", func(before, after []byte) error { d.listRuns(at, before, after); return nil }, maxVetted}
	case strings.EqualFold(in, "rebase-merge") && strings.EqualFold(name, "strategy"):
		return judged{"the strategy of a merge", func(_, after []byte) error { return gitconf.VetStrategy(string(after)) }, maxVetted}
	case strings.EqualFold(in, "rebase-apply") && strings.EqualFold(name, "apply-opt"):
		return judged{"how patches are applied", func(_, after []byte) error { return gitconf.VetApply(string(after)) }, maxVetted}
	case strings.EqualFold(in, "sequencer") && strings.EqualFold(name, "opts"):
		return judged{"options of a cherry-pick", func(_, after []byte) error { return gitconf.VetSequencer(after) }, maxVetted}
	}
	return judged{}
}

// inLogs gives a path below its root; of what lies in a git directory that is called like
// the one of logs, below that.
func (c *Config) inLogs(at string) string {
	low := strings.ToLower(at)
	for end := len(at); ; {
		i := strings.LastIndex(low[:end], "/logs/")
		if i < 0 {
			return c.relative(at)
		}
		if _, err := os.Lstat(at[:i] + "/logs/objects"); err == nil && len(low) == len(at) {
			return at[i+len("/logs/"):]
		}
		end = i + 1
	}
}

// gitFile decides a change of a file of a git directory that is judged; false for any other
// change.
func (d *Guard) gitFile(ch *broker.Change, at string) (broker.Verdict, bool) {
	if ch.Asked || d.c.Exactly || d.c.Restoring {
		return broker.Verdict{}, false
	}
	moves := (ch.Op == broker.OpRename || ch.Op == broker.OpExchange) && (ch.Kind == broker.KindDir || ch.Over == broker.KindDir)
	// What is in such a directory is judged by what that is called.
	kind := func(at string) string {
		name := strings.ToLower(d.folded(path.Base(at), at))
		switch {
		case protect.Reference(d.c.inLogs(at)+"/x", d.folds(at)):
			return "refs"
		case name == "rebase-merge" || name == "rebase-apply" || name == "sequencer":
			return name
		}
		return ""
	}
	j := d.judge(at)
	if j.vet == nil && !(moves && kind(at) != "") || d.gitAround(at) == "" {
		return broker.Verdict{}, false
	}
	v := refusal(at, "in a git directory: "+j.what, "default", at)
	switch ch.Op {
	case broker.OpCreate, broker.OpOpen:
		v.Allowed, v.Vet, v.Most = true, j.vet, j.most
	case broker.OpRename, broker.OpExchange:
		switch {
		case ch.Op == broker.OpRename && at == ch.Path:
			return broker.Verdict{}, false
		case moves && (kind(at) == "" || kind(ch.Path) == kind(ch.To)):
			return broker.Verdict{}, false // what is in it was judged
		case moves:
			v.Rule = "in a git directory: what is in such a directory comes file by file"
		case ch.Op == broker.OpRename && ch.Kind == broker.KindFile:
			v.Allowed, v.Vet, v.Most = true, j.vet, j.most
		}
	case broker.OpLink:
		v.Rule += " has one name"
	case broker.OpTruncate: // a part of what was judged may say something else
		v.Rule += " is replaced or written as a whole"
	default:
		return broker.Verdict{}, false
	}
	return v, true
}

// listRuns tells of a list of what a rebase is to do if something new in it is run.
func (d *facts) listRuns(at string, before, after []byte) {
	was := make(map[string]bool)
	for line := range strings.Lines(string(before)) {
		was[line] = true
	}
	for line := range strings.Lines(string(after)) {
		if words := strings.Fields(line); len(words) > 0 && (words[0] == "exec" || words[0] == "x") && !was[line] {
			d.listAgain(at)
			return
		}
	}
}

// listMoved tells of a list of what a rebase is to do that has come, with a directory, to
// where git looks for one: what was told of it before named another place.
func (d *Guard) listMoved(dir string) {
	if d.gitAround(dir+"/x") == "" {
		return
	}
	for _, at := range []string{dir + "/git-rebase-todo", dir + "/rebase-merge/git-rebase-todo"} {
		text, err := gitdir.Read(at, maxVetted)
		switch {
		case gitdir.IsMissing(err):
		case err != nil:
			d.listAgain(at)
		default:
			d.listRuns(at, nil, text)
		}
	}
}

// inTree says why a path, as git keeps it, would lead out of a working tree or into its
// git directory, as verify_path of git's read-cache.c does: nil where it does not. The
// empty one stands for a path of another index.
func inTree(name string) error {
	if name == "" || ordinary(name) {
		return nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("git would write to %q", name)
		}
		for piece := range strings.SplitSeq(part, "\\") { // it parts directories on NTFS
			// A stream of a directory (".git::$INDEX_ALLOCATION") is that directory there.
			piece, _, _ = strings.Cut(piece, ":")
			if rule, ok := protect.Component(piece, true); ok && strings.HasPrefix(rule, ".git:") {
				return fmt.Errorf("git would write to %q", name)
			}
		}
	}
	return nil
}

// ordinary says whether no part of a path can be one that leads elsewhere, or ".git" in any
// way of writing it: those begin with a dot, or are short names ("git~1") or more than ASCII.
func ordinary[T string | []byte](name T) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c == '~', c >= utf8.RuneSelf, (c == '.' || c == '/') && (i == 0 || name[i-1] == '/' || name[i-1] == '\\'):
			return false
		}
	}
	return len(name) > 0 && name[len(name)-1] != '/'
}

// vetResolved judges the list of files of which git keeps how a conflict was resolved
// (rerere): at the next commit it copies what they hold then into the repository.
func (c *Config) vetResolved(at, text string) error {
	if text == "" {
		return nil
	}
	dir := path.Dir(at)
	tree := gitdir.TreeOf(dir)
	if path.Base(dir) == ".git" {
		tree = path.Dir(dir)
	}
	if !slices.ContainsFunc(c.Roots, func(r string) bool { return pathname.Within(tree, r) }) {
		return errors.New("git would copy what it names, and there is no working tree of it here")
	}
	for _, name := range resolvedNames(text) {
		if name == "" {
			return errors.New("there is a line in it that git does not write")
		}
		if err := inTree(name); err != nil {
			return err
		}
		full := tree + "/" + name
		if link := c.linkTo(full); link != "" || c.Policy.Lookup(full).Access == policy.Deny || !unsecret(full) {
			return fmt.Errorf("git would copy %q, which is a link or not to be read", name)
		}
	}
	return nil
}

// resolvedNames gives the files of such a list, "" for what is none.
func resolvedNames(text string) (names []string) {
	for entry := range strings.SplitSeq(strings.TrimSuffix(text, "\x00"), "\x00") {
		_, name, _ := strings.Cut(entry, "\t")
		names = append(names, name)
	}
	return names
}

// resolves says whether a change would put a link, or what may hold one, where git copies
// a file from, see vetResolved.
func (d *facts) resolves(ch *broker.Change, at string) bool {
	if !carries(ch, at) || ch.Op != broker.OpSymlink && ch.Kind != broker.KindSymlink && ch.Over != broker.KindSymlink && ch.Kind != broker.KindDir && ch.Over != broker.KindDir {
		return false
	}
	for tree := path.Dir(at); len(tree) > 1; tree = path.Dir(tree) {
		text, err := gitdir.Read(gitdir.Of(tree)+"/MERGE_RR", maxVetted)
		if err != nil && !gitdir.IsMissing(err) && d.isWorkingTree(tree) {
			return true
		}
		if len(text) > 0 && slices.ContainsFunc(resolvedNames(string(text)), func(name string) bool { return pathname.Within(path.Join(tree, name), at) }) {
			return true
		}
	}
	return false
}

// isWorkingTree says whether a directory is a working tree, also one that may not be
// searched: the project's own, one of its worktrees, one that was made inside.
func (d *facts) isWorkingTree(dir string) bool {
	if isTree(dir) || d.c.Git.Common != "" && dir == d.c.treeOfOwn() || slices.Contains(d.c.Trees, dir) {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.listed[dir+"/.git"] || d.born[dir+"/.git"]
}

// treeOfOwn is the working tree of the project's own git directory.
func (c *Config) treeOfOwn() string {
	if path.Base(c.Git.Dir) == ".git" {
		return path.Dir(c.Git.Dir)
	}
	return c.Project
}

// unsecret says whether a file has the name of no secret.
func unsecret(at string) bool {
	test := secrets.Match(path.Dir(at), path.Base(at)).Test
	return test == secrets.Never || test == secrets.Shown
}
