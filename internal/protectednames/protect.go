// Package protectednames finds the names of one project that make programs outside run code
// later, as they are on the host now: those that package protect lists, the control files of
// its repositories, and what git's configuration and links of such names lead to. Mounts
// hold what exists; the rest is left to the broker, which knows it by name.
package protectednames

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/gitconf"
	"carrel/internal/gitdir"
	"carrel/internal/globscan"
	"carrel/internal/guard"
	"carrel/internal/hostfacts"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/protect"
)

// Risky reports whether a file below the project makes programs outside run code later.
func Risky(rel string) bool {
	_, level := protect.Name(strings.TrimPrefix(rel, "/"), false)
	return level > protect.None
}

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
var ProtectedGitNames = []string{
	"config", "config.worktree", "hooks", "commondir", "gitdir", "info/attributes", "lazygit.yml", "glab-cli/config.yml",
}

// Names is what mounts hold of the protected names: read-only rules, and
// directories that must keep their names.
type Names struct {
	Rules []policy.Rule
	Pins  []string
	Write []string         // git directories outside the project that commits need
	Named []gitconf.Target // what git's configuration names, or a link, existing or not
	// Places are the protected names that there are, by their paths, and directories of
	// hooks: links are looked for in them.
	Places   []protect.Top
	partial  bool            // there are more git directories than are looked at
	searched map[string]bool // directories of which it is known whether names in them can be looked at
}

// Search says where protected names are looked for.
type Search struct {
	Place        *hostfacts.Place
	Policy       *policy.Effective
	Brokered     bool     // changes are decided one by one
	Repositories []string // below the project
	Getenv       func(string) string
	Note         func(format string, args ...any)
}

// Find gives the protected names that there are now, and what git's configuration and
// links of such names lead to.
func (s *Search) Find() Names {
	found := find(s.Place, s.Policy, s.Brokered)
	if found.partial {
		s.Note("%s has more worktrees or submodules than the %d that are looked at; what makes git run programs in further ones is not protected",
			s.Place.Git.Common, gitdir.MaxSearched)
	}
	list, hooks, problems := targets(s.Place, s.Policy, s.Getenv)
	for _, t := range hooks {
		found.Places = append(found.Places, protect.Top{Pattern: t.Path, Why: t.Why})
	}
	list = append(list, s.linkTargets(found.Places)...)
	below, inside := s.nestedTargets()
	found.Places = append(found.Places, inside...)
	if !s.Brokered {
		list = append(list, below...)
	}
	mounted := make(map[string]bool)
	trees := OtherTrees(s.Place)
	for i := range list {
		t := &list[i]
		if s.Brokered && slices.ContainsFunc(trees, func(tree string) bool { return pathname.Within(t.Path, tree) }) {
			continue // the broker knows it by name; with a mount in it a worktree could not be removed
		}
		if t.Path != "" && !t.Link && !mounted[t.Path] { // a link is no place for a mount
			mounted[t.Path] = true
			found.readOnly(t.Path, guard.RuleOf(t, t.Path).Source.Text, s.Policy)
		}
	}
	if found.Named = list; s.Brokered {
		// The broker knows them by name, and what is around them can be removed.
		found.Named = append(found.Named, below...)
	}
	for _, problem := range problems {
		s.Note("%s; what it names there is not protected", problem)
	}
	return found
}

// maxNested bounds the repositories below the project whose configuration is read at the
// start.
const maxNested = 500

// nestedTargets gives what repositories below the project name outside of where they are.
// What they name inside is looked at when something there changes first, see guard.namedTargets;
// inside has these, and their own files, as each may have another name already.
func (s *Search) nestedTargets() (list []gitconf.Target, inside []protect.Top) {
	left := maxNested
	own := s.Place.Git.Common
	for _, tree := range s.Repositories {
		if tree == s.Place.Project || tree == own || tree == s.Place.Git.Dir || tree+"/.git" == own || tree+"/.git" == s.Place.Git.Dir {
			continue
		}
		if left--; left < 0 {
			s.Note("there are more than %d repositories in the project; what further ones name outside of where they are is not protected", maxNested)
			break
		}
		for _, dir := range []string{tree, tree + "/.git"} {
			for _, name := range ProtectedGitNames {
				inside = append(inside, protect.Top{Pattern: dir + "/" + name, Why: "git runs what it names"})
			}
		}
		for _, t := range guard.TargetsOf(tree, own) {
			if t.Path != "" && pathname.Within(t.Path, tree) && t.Path != tree {
				inside = append(inside, protect.Top{Pattern: t.Path, Why: t.Why})
			}
			if !pathname.Within(t.Path, tree) && t.Path != s.Place.Project && writableTarget(t.Path, s.Place, s.Policy) && !isConfigOf(t.Path, s.Place.Git) {
				list = append(list, t)
			}
		}
	}
	return list, inside
}

// OtherTrees are the working trees of the project's repository but for its own. A linked
// worktree has none of them in reach.
func OtherTrees(p *hostfacts.Place) (trees []string) {
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
func (s *Search) linkTargets(places []protect.Top) (list []gitconf.Target) {
	follow := func(link, why string) {
		links, final := gitconf.Follow(gitdir.Files{}, link)
		for i, at := range append(slices.Clone(links), final) {
			if at != link && at != s.Place.Project && writableTarget(at, s.Place, s.Policy) && !isConfigOf(at, s.Place.Git) {
				list = append(list, gitconf.Target{Path: at, File: link, Link: i < len(links), Why: why})
			}
		}
	}
	for _, at := range places {
		if !guard.Links(at.Pattern, func(link string) { follow(link, at.Why) }) {
			s.Note("there is more in %s than is looked at; what further links in it lead to is not protected", at.Pattern)
		}
	}
	return list
}

// find lists what exists now. Rules that the user gave for the same path
// stand: an explicit write to .vscode opens .vscode.
func find(p *hostfacts.Place, eff *policy.Effective, brokered bool) Names {
	t := Names{}
	for _, n := range guardedNames(p.Project, brokered) {
		t.readOnly(p.Project+"/"+n.Pattern, "protected name: "+n.Why, eff)
	}
	if p.Git.Dir == "" {
		return t
	}
	if p.Git.Dir != p.Project+"/.git" {
		t.readOnly(p.Project+"/.git", "protected name: points to the repository", eff)
	}
	dirs, all := p.Git.Repositories()
	t.partial = !all
	for _, dir := range dirs {
		t.Places = append(t.Places, protect.Top{Pattern: dir + "/hooks", Why: "git runs it"})
		if !pathname.Within(dir, p.Project) && !coveredBy(dir, []string{p.Git.Common}) {
			t.Write = append(t.Write, dir)
		}
		if brokered && dir != p.Git.Common && dir != p.Git.Dir {
			// The broker knows their files by name. A mount would keep a worktree's
			// or a submodule's part from being removed, after the rest of it has gone.
			continue
		}
		t.Pins = append(t.Pins, dir)
		for _, name := range ProtectedGitNames {
			t.readOnly(dir+"/"+name, "protected name: git runs what it names", eff)
		}
	}
	return t
}

// readOnly protects one name. A link can be no mount point, so where it leads
// to a place in the project that place is protected, and whether the link is
// still what it was is looked at in the end.
func (t *Names) readOnly(path, why string, eff *policy.Effective) {
	if _, err := os.Lstat(path); err != nil {
		if in := filepath.Dir(path); !t.searched[in] {
			if dir := globscan.Closed(path, eff.Scope.Project); dir != "" {
				t.Rules = append(t.Rules, globscan.Hide(dir))
			}
			if t.searched == nil {
				t.searched = make(map[string]bool)
			}
			t.searched[in] = true
		}
		return
	}
	t.Places = append(t.Places, protect.Top{Pattern: path, Why: strings.TrimPrefix(why, "protected name: ")})
	real, err := filepath.EvalSymlinks(path)
	if err != nil || real != path && !pathname.Within(real, eff.Scope.Project) || real == eff.Scope.Project {
		return
	}
	if st, err := os.Lstat(real); err != nil || !st.IsDir() && !st.Mode().IsRegular() {
		return // a FIFO or socket holds no settings
	}
	for _, r := range eff.Rules {
		if r.Path == real && r.Source.Layer < policy.LayerProject {
			return
		}
	}
	t.Rules = append(t.Rules, policy.Rule{Path: real, Access: policy.Read,
		Source: policy.Source{Layer: policy.LayerDefault, Text: why}})
}

// Sensitive are the paths that find knows of, whether they exist or not, but for those
// that surely do not: what is there at the end and was not at the start was born inside.
func Sensitive(p *hostfacts.Place, brokered bool) []string {
	var out []string
	for _, n := range guardedNames(p.Project, brokered) {
		out = append(out, p.Project+"/"+n.Pattern)
	}
	if p.Git.Dir != "" {
		dirs, _ := p.Git.Repositories()
		for _, dir := range dirs {
			for _, name := range ProtectedGitNames {
				out = append(out, dir+"/"+name)
			}
		}
	}
	return out
}

// Present gives those paths that exist, each with its kind and, for a link, its
// text.
func Present(paths []string) map[string]string {
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
