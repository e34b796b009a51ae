package guard

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"carrel/internal/broker"
	"carrel/internal/gitdir"
	"carrel/internal/pathname"
	"carrel/internal/protect"
)

// pointer decides a change of a ".git". One that is no directory says where the repository
// is, and a program inside writes in places where no change is decided.
func (d *facts) pointer(ch *broker.Change, at string) broker.Verdict {
	switch {
	case d.c.Restoring || ch.Asked:
	case ch.Op == broker.OpMkdir:
		if waits := d.waitsIn(path.Dir(at)); waits != "" {
			return refusal(at, "protected name: .git: git would run "+waits, "default", at)
		}
	case ch.Op == broker.OpCreate, ch.Op == broker.OpOpen && ch.Kind == broker.KindFile, ch.Op == broker.OpRename && at == ch.To && ch.Kind == broker.KindFile:
		v := refusal(at, "protected name: .git", "default", at)
		v.Allowed, v.Vet = true, func(before, after []byte) error { return d.points(path.Dir(at), string(before), string(after)) }
		return v
	case ch.Op == broker.OpLink, ch.Op == broker.OpExchange && (ch.Kind != ch.Over || ch.Kind == broker.KindFile):
		return refusal(at, "protected name: .git: a repository or what leads to one", "default", at)
	}
	return broker.Verdict{Allowed: true}
}

// points says why a file of a directory may not lead where it does, as in
// gitrepository-layout(5).
func (d *facts) points(dir, before, text string) error {
	to, ok := strings.CutPrefix(strings.TrimRight(text, "\r\n"), "gitdir: ")
	if !ok {
		return nil // git takes no other form
	}
	if d.c.leads(to, dir) {
		return fmt.Errorf("%q is where only this run writes", to)
	}
	if !path.IsAbs(to) {
		to = dir + "/" + to
	}
	to = path.Clean(to)
	if link := d.c.linkTo(to); link != "" {
		return fmt.Errorf("%q is a link", link)
	}
	names, err := gitdir.Read(to+"/MERGE_RR", maxVetted)
	if err != nil && !gitdir.IsMissing(err) {
		return err
	}
	if len(names) > 0 {
		for _, name := range resolvedNames(string(names)) {
			if link := d.c.linkTo(path.Join(dir, name)); link != "" || inTree(name) != nil {
				return fmt.Errorf("git would copy %q, which is a link", name)
			}
		}
	}
	if at := d.strange(dir); at != "" {
		return fmt.Errorf("git would run %q", at)
	}
	// Where it led before, what that names was held.
	if strings.TrimRight(before, "\r\n") != strings.TrimRight(text, "\r\n") {
		if err := d.runsThere(dir, to); err != nil {
			return err
		}
	}
	if d.c.Git.Common != "" && pathname.Within(to, d.c.Git.Common) || slices.ContainsFunc(d.c.Roots, func(r string) bool { return pathname.Within(to, r) }) {
		return nil
	}
	return fmt.Errorf("%q is no place of the project", to)
}

// linkTo gives the first link on the way from a root to a path, "" for none.
func (c *Config) linkTo(to string) string {
	for _, r := range c.Roots {
		if !pathname.Within(to, r) {
			continue
		}
		for i := len(r) + 1; i <= len(to); i++ {
			if i < len(to) && to[i] != '/' {
				continue
			}
			if st, err := os.Lstat(to[:i]); err == nil && st.Mode()&os.ModeSymlink != 0 {
				return to[:i]
			}
		}
	}
	return ""
}

// leads says whether a path, as written in a directory, leads into the state directory.
// A project's part of it has a name that only it has, so that no way there, through
// whatever links, is without one.
func (c *Config) leads(text, dir string) bool {
	if c.State == "" {
		return false
	}
	for part := range strings.SplitSeq(text, "/") {
		if c.Private(part) {
			return true
		}
	}
	if !path.IsAbs(text) {
		text = dir + "/" + text
	}
	return pathname.Within(path.Clean(text), c.State)
}

// returns says whether a rename gives a repository that was made inside its name again:
// whatever it was called meanwhile, what is in it was judged.
func (d *Guard) returns(ch *broker.Change, at string) bool {
	return ch.Op == broker.OpRename && at == ch.To && ch.Kind == broker.KindDir && d.folded(path.Base(at), at) == ".git" && d.bears(ch.Path) && d.gitAround(at) == "" && d.waitsIn(path.Dir(at)) == "" && d.tame(ch.Path, "") == nil
}

// odd says why something that is neither file nor directory may not be made: git outside
// would wait for a process to write to it, or believe what listens at a socket. "" for all others.
func (d *facts) odd(ch *broker.Change, at string) string {
	brings := ch.Op == broker.OpMknod || ch.Op == broker.OpBind || (ch.Op == broker.OpRename || ch.Op == broker.OpLink) && at == ch.To && ch.Kind == broker.KindOther || ch.Op == broker.OpExchange && (ch.Kind == broker.KindOther || ch.Over == broker.KindOther)
	if !brings || d.c.Exactly {
		return ""
	}
	switch d.folded(path.Base(at), at) {
	case ".git", ".gitignore", ".gitattributes", ".gitmodules", ".mailmap":
	default:
		if d.gitAround(at) == "" {
			return ""
		}
	}
	if ch.Op == broker.OpBind {
		return "git would believe what listens there"
	}
	return "git would wait for a process that writes to it"
}

// folded gives a name in the form in which it is compared.
func (d *facts) folded(name, at string) string {
	if rule, ok := protect.Component(name, d.folds(at)); ok && strings.HasPrefix(rule, ".git:") {
		return ".git"
	}
	if d.folds(at) {
		return strings.ToLower(name)
	}
	return name
}
