package workspace

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/gitconf"
	"carrel/internal/gitdir"
	"carrel/internal/guard"
	"carrel/internal/hostfacts"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/protect"
)

// guardedNames gives the protected names that may be there at the top of a project, with
// what they match. Mounts can protect what exists; a name that does not exist yet, or lies
// deeper, can only be held by the broker. .gitmodules changes in ordinary work, where only
// mounts could hold it: with a broker it may, and the end of the run names it.
func guardedNames(project string, brokered bool) []protect.Top {
	var out []protect.Top
	entries := make(map[string][]os.DirEntry)
	missing := guard.Absent(project)
	for _, n := range protect.Tops() {
		if first, _, _ := strings.Cut(n.Pattern, "/"); missing(first) {
			continue
		}
		if !strings.Contains(n.Pattern, "*") {
			out = append(out, n)
			continue
		}
		dir, pattern := path.Split(n.Pattern)
		if _, known := entries[dir]; !known {
			entries[dir], _ = os.ReadDir(project + "/" + dir)
		}
		for _, e := range entries[dir] {
			if ok, _ := path.Match(pattern, e.Name()); ok {
				out = append(out, protect.Top{Pattern: dir + e.Name(), Why: n.Why})
			}
		}
	}
	if !brokered {
		out = append(out, protect.Top{Pattern: ".gitmodules", Why: "submodule addresses"})
	}
	return out
}

// Files in a repository that make git run programs or look elsewhere.
var protectedGitNames = []string{"config", "config.worktree", "hooks", "commondir", "gitdir", "info/attributes"}

// protection is what mounts hold of the protected names: read-only rules, and
// directories that must keep their names.
type protection struct {
	rules []policy.Rule
	pins  []string
	write []string         // git directories outside the project that commits need
	named []gitconf.Target // what git's configuration names, or a link, existing or not
	// places are the protected names that there are, by their paths, and directories of
	// hooks: links are looked for in them.
	places   []protect.Top
	searched map[string]bool // directories of which it is known whether names in them can be looked at
}

// guardNames finds what is protected by its name. Without walls nothing is, but the
// project's repository belongs to it all the same.
func (p *Prepared) guardNames() {
	p.guarded = guardNames(&p.place, p.Policy, p.history())
	list, hooks, problems := targets(&p.place, p.Policy, p.getenv)
	for _, t := range hooks {
		p.guarded.places = append(p.guarded.places, protect.Top{Pattern: t.Path, Why: t.Why})
	}
	list = append(list, p.linkTargets()...)
	below := p.nestedTargets()
	if !p.history() {
		list = append(list, below...)
	}
	mounted := make(map[string]bool)
	trees := otherTrees(&p.place)
	for i := range list {
		t := &list[i]
		if p.history() && slices.ContainsFunc(trees, func(tree string) bool { return pathname.Within(t.Path, tree) }) {
			continue // the broker knows it by name; with a mount in it a worktree could not be removed
		}
		if t.Path != "" && !t.Link && !mounted[t.Path] { // a link is no place for a mount
			mounted[t.Path] = true
			p.guarded.readOnly(t.Path, guard.RuleOf(t, t.Path).Source.Text, p.Policy)
		}
	}
	if p.guarded.named = list; p.history() {
		// The broker knows them by name, and what is around them can be removed.
		p.guarded.named = append(p.guarded.named, below...)
	}
	for _, problem := range problems {
		p.note("%s; what it names there is not protected", problem)
	}
	if p.NoWalls() {
		p.guarded = protection{write: p.guarded.write}
	}
}

// maxNested bounds the repositories below the project whose configuration is read at the
// start.
const maxNested = 500

// nestedTargets gives what repositories below the project name outside of where they are.
// What they name inside is looked at when something there changes first, see [namedTargets].
func (p *Prepared) nestedTargets() (list []gitconf.Target) {
	if p.view == nil {
		return nil
	}
	left := maxNested
	own := p.place.Git.Common
	for _, tree := range p.view.Repositories {
		if tree == p.place.Project || tree == own || tree == p.place.Git.Dir || tree+"/.git" == own || tree+"/.git" == p.place.Git.Dir {
			continue
		}
		if left--; left < 0 {
			p.note("there are more than %d repositories in the project; what further ones name outside of where they are is not protected", maxNested)
			break
		}
		for _, t := range guard.TargetsOf(tree, own) {
			if !pathname.Within(t.Path, tree) && t.Path != p.place.Project && writableTarget(t.Path, &p.place, p.Policy) && !isConfigOf(t.Path, p.place.Git) {
				list = append(list, t)
			}
		}
	}
	return list
}

// otherTrees are the working trees of the project's repository but for its own. A linked
// worktree has none of them in reach.
func otherTrees(p *hostfacts.Place) (trees []string) {
	for _, r := range configured(p) {
		for _, tree := range r.Trees {
			if p.Git.Dir == p.Git.Common && tree != p.Project && pathname.Within(tree, p.Project) {
				trees = append(trees, tree)
			}
		}
	}
	return trees
}

// linkTargets gives where the links lead that have a protected name or lie in a directory
// that has one, whether something is there or not: it is run under that name.
func (p *Prepared) linkTargets() (list []gitconf.Target) {
	follow := func(link, why string) {
		links, final := gitconf.Follow(gitdir.Files{}, link)
		for i, at := range append(slices.Clone(links), final) {
			if at != link && at != p.place.Project && writableTarget(at, &p.place, p.Policy) && !isConfigOf(at, p.place.Git) {
				list = append(list, gitconf.Target{Path: at, File: link, Link: i < len(links), Why: why})
			}
		}
	}
	for _, at := range p.guarded.places {
		if !guard.Links(at.Pattern, func(link string) { follow(link, at.Why) }) {
			p.note("there is more in %s than is looked at; what further links in it lead to is not protected", at.Pattern)
		}
	}
	return list
}

// guardNames lists what exists now. Rules that the user gave for the same path
// stand: an explicit write to .vscode opens .vscode.
func guardNames(p *hostfacts.Place, eff *policy.Effective, brokered bool) protection {
	t := protection{}
	for _, n := range guardedNames(p.Project, brokered) {
		t.readOnly(p.Project+"/"+n.Pattern, "protected name: "+n.Why, eff)
	}
	if p.Git.Dir == "" {
		return t
	}
	if p.Git.Dir != p.Project+"/.git" {
		t.readOnly(p.Project+"/.git", "protected name: points to the repository", eff)
	}
	for _, dir := range p.Git.Repositories() {
		t.places = append(t.places, protect.Top{Pattern: dir + "/hooks", Why: "git runs it"})
		if !pathname.Within(dir, p.Project) && !coveredBy(dir, []string{p.Git.Common}) {
			t.write = append(t.write, dir)
		}
		if brokered && dir != p.Git.Common && dir != p.Git.Dir {
			// The broker knows their files by name. A mount would keep a worktree's
			// or a submodule's part from being removed, after the rest of it has gone.
			continue
		}
		t.pins = append(t.pins, dir)
		for _, name := range protectedGitNames {
			t.readOnly(dir+"/"+name, "protected name: git runs what it names", eff)
		}
	}
	return t
}

// readOnly protects one name. A link can be no mount point, so where it leads
// to a place in the project that place is protected, and whether the link is
// still what it was is looked at in the end.
func (t *protection) readOnly(path, why string, eff *policy.Effective) {
	if _, err := os.Lstat(path); err != nil {
		if in := filepath.Dir(path); !t.searched[in] {
			if dir := blocked(path, eff.Scope.Project); dir != "" {
				t.rules = append(t.rules, hide(dir))
			}
			if t.searched == nil {
				t.searched = make(map[string]bool)
			}
			t.searched[in] = true
		}
		return
	}
	t.places = append(t.places, protect.Top{Pattern: path, Why: strings.TrimPrefix(why, "protected name: ")})
	real, err := filepath.EvalSymlinks(path)
	if err != nil || real != path && !pathname.Within(real, eff.Scope.Project) || real == eff.Scope.Project {
		return
	}
	if st, err := os.Lstat(real); err != nil || !st.IsDir() && !st.Mode().IsRegular() {
		return // a FIFO or socket is nobody's settings
	}
	for _, r := range eff.Rules {
		if r.Path == real && r.Source.Layer < policy.LayerProject {
			return
		}
	}
	t.rules = append(t.rules, policy.Rule{Path: real, Access: policy.Read,
		Source: policy.Source{Layer: policy.LayerDefault, Text: why}})
}

// blocked gives the directory below root that keeps us from looking at path. We
// own it, or its permissions would not matter: so the command can open it again,
// and what the rules say of its content could not be held. It is hidden whole.
func blocked(path, root string) string {
	if !pathname.Within(path, root) {
		return ""
	}
	for dir := root; dir != path; {
		if st, err := os.Lstat(dir); err != nil || !st.IsDir() {
			return ""
		}
		if !hostfacts.Searchable(dir) {
			return dir
		}
		rest := strings.TrimPrefix(strings.TrimPrefix(path, dir), "/")
		next, _, _ := strings.Cut(rest, "/")
		dir = filepath.Join(dir, next)
	}
	return ""
}

// hide denies a directory that cannot be looked into.
func hide(dir string) policy.Rule {
	return policy.Rule{Path: dir, Access: policy.Deny,
		Source: policy.Source{Layer: policy.LayerDefault, Text: "it cannot be searched for what is denied or protected; give it back its permissions"}}
}

// sensitive are the paths that guardNames knows of, whether they exist or not, but for those
// that surely do not: what is there at the end and was not at the start was born inside.
func sensitive(p *hostfacts.Place, brokered bool) []string {
	var out []string
	for _, n := range guardedNames(p.Project, brokered) {
		out = append(out, p.Project+"/"+n.Pattern)
	}
	if p.Git.Dir != "" {
		for _, dir := range p.Git.Repositories() {
			for _, name := range protectedGitNames {
				out = append(out, dir+"/"+name)
			}
		}
	}
	return out
}

// present gives those paths that exist, each with its kind and, for a link, its
// text.
func present(paths []string) map[string]string {
	out := make(map[string]string)
	for _, p := range paths {
		if st, err := os.Lstat(p); err == nil {
			link, _ := os.Readlink(p)
			out[p] = st.Mode().Type().String() + link
		}
	}
	return out
}

func coveredBy(path string, dirs []string) bool {
	for _, d := range dirs {
		if path != d && pathname.Within(path, d) {
			return true
		}
	}
	return false
}

// staticPart is the directory that everything a glob matches lies below.
func staticPart(glob string) string {
	if i := strings.IndexAny(glob, `*?[{\`); i >= 0 {
		glob = glob[:i]
	}
	return path.Clean(glob[:strings.LastIndexByte(glob, '/')+1])
}

// maxExpansions bounds how often a search for globs is begun again because
// directories were moved under it.
const maxExpansions = 5

// errMoved says that a directory went away while it was being searched: what it
// held may be somewhere that was searched before.
var errMoved = errors.New("directories are being renamed while the deny and protect globs are searched for; start again when that has settled")
