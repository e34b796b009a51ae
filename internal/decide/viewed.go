package decide

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/globscan"
	"carrel/internal/hostexec"
	"carrel/internal/hostfacts"
	"carrel/internal/hostview"
	"carrel/internal/inside"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

func (p *viewed) viewRules() []policy.FileRequest {
	rules := slices.Clone(p.programs)
	for _, r := range p.view.Rules {
		// Nothing that lies in the project may lead out of it: a grant there
		// that is a link was made by the project's author.
		// And what an ordinary user cannot read outside needs no mask: inside has fewer rights.
		if r.Access == policy.Deny && p.UID != 0 && strings.HasPrefix(r.Place, "/etc/") && !hostfacts.Readable(r.Place) {
			continue
		}
		if !pathname.Within(r.Place, p.Place.Project) || p.staysInside(r) {
			rules = append(rules, r)
		}
	}
	for _, extra := range p.view.ExtraRead {
		rules = append(rules, policy.FileRequest{Place: extra, Access: policy.Read,
			Source: policy.Source{Layer: policy.LayerDefault, Text: "a system file points there"}})
	}
	for _, c := range p.view.Caches {
		if _, kind := p.Facts.Resolve(c.Path); kind == sandbox.KindDir && !c.Private {
			rules = append(rules, policy.FileRequest{Place: c.Path, Access: policy.Read,
				Source: policy.Source{Layer: policy.LayerDefault, Text: c.Reason + ", copy-on-write"}})
		}
	}
	return append(rules, p.ownRules()...)
}

// globRoots are the places that globs can matter in: the caches as well.
func (p *viewed) globRoots() []string {
	roots := p.grantedRoots()
	for _, c := range p.view.Caches {
		if !c.Private {
			roots = append(roots, c.Path)
		}
	}
	return sandbox.Outermost(roots)
}

// writeRoots are the places that rules let be written; "/" stands for what is in
// it.
func (p *viewed) writeRoots() []string {
	var roots []string
	for _, r := range p.Policy.Rules {
		if r.Path == "" || r.Access != policy.Write || r.Path == "/" {
			continue
		}
		roots = append(roots, r.Path)
	}
	top, _, _ := p.rootEntries() // an error ends the compilation
	for _, r := range top {
		if r.Access == policy.Write {
			roots = append(roots, r.Path)
		}
	}
	return roots
}

// escapes says whether something that a glob matches could be made inside.
func (p *viewed) escapes(glob string, later []string) bool {
	base := globscan.Base(glob)
	return slices.ContainsFunc(p.writeRoots(), func(root string) bool {
		return root != p.Policy.Scope.Tmp && !slices.Contains(later, root) && (pathname.Within(base, root) || pathname.Within(root, base))
	})
}

// rootEntries are the rules that a grant of "/" stands for, and the links
// there. What has a rule of its own is left to that.
func (p *viewed) rootEntries() (rules []policy.Rule, links []sandbox.Mount, err error) {
	d := p.Policy.Lookup("/")
	if d.Access != policy.Read && d.Access != policy.Write {
		return nil, nil, nil
	}
	entries, err := os.ReadDir("/")
	if err != nil {
		return nil, nil, fmt.Errorf("reading the root directory: %w", errors.Unwrap(err))
	}
	for _, e := range entries {
		full := "/" + e.Name()
		switch real, kind := p.Facts.Resolve(full); {
		case slices.Contains(hostfacts.OwnTops, e.Name()), slices.ContainsFunc(p.Policy.Rules, func(r policy.Rule) bool { return r.Path == full }):
		case e.Type()&os.ModeSymlink != 0:
			if text, err := os.Readlink(full); err == nil && !slices.ContainsFunc(p.view.Symlinks, func(l hostview.Symlink) bool { return l.Path == full }) {
				links = append(links, sandbox.Mount{Kind: sandbox.MakeSymlink, Target: full, Source: text, Optional: true})
			}
		case real == full && (kind == sandbox.KindDir || kind == sandbox.KindFile):
			top := p.Policy.Lookup(full).Access // a pattern may take it away
			if top == policy.Read || top == policy.Write {
				rules = append(rules, policy.Rule{Path: full, Access: top, Source: d.Rule.Source})
			}
		}
	}
	return rules, links, nil
}

// decidedLater are the roots in which globs need not be looked for at the
// start: the broker decides by them whenever something is opened or changed. Who
// may make mounts of its own inside (nesting full) sees the roots where the
// broker does not look, so that there what is denied has to be hidden by mounts,
// which it cannot take away. Where names are compared without case, they would
// not be compared as the file system does.
func (p *viewed) decidedLater() []string {
	roots := append([]string{p.Place.Project}, p.writeRoots()...)
	var later []string
	for _, root := range roots {
		if p.brokered(root) && p.someBelow(root, policy.Unset) && (p.Policy.Nested != policy.NestedFull || !p.deniesBelow(root)) {
			later = append(later, root)
		}
	}
	return later
}

// Passwords are the configurations of repositories that others stand for inside.
func (p *viewed) Passwords() (all []string) {
	for _, f := range p.view.Files {
		if f.Reason == hostview.Passwords && p.hidesPassword(f.Path) {
			all = append(all, f.Path)
		}
	}
	return all
}

// path keeps of the outside PATH what is visible inside. The helpers come
// first: a link helper of the system would find no desktop.
func (p *viewed) path() string {
	dirs := []string{inside.Dir}
	if len(p.HostCommands()) > 0 {
		dirs = []string{hostexec.ShimDir, inside.Dir}
	}
	own := len(dirs)
	for _, d := range filepath.SplitList(p.Getenv("PATH")) {
		if p.contained() {
			break // the stage adds the image's
		}
		if !filepath.IsAbs(d) || strings.Contains(d, "\x00") {
			continue
		}
		if a := p.Policy.Lookup(p.Facts.Canonical(d)).Access; a == policy.Read || a == policy.Write {
			dirs = append(dirs, filepath.Clean(d))
		}
	}
	if len(dirs) == own {
		dirs = append(dirs, filepath.SplitList(defaultPath)...)
	}
	dirs = append(dirs, p.view.PathDirs...)
	var once []string
	for _, d := range dirs {
		if !slices.Contains(once, d) {
			once = append(once, d)
		}
	}
	return strings.Join(once, ":")
}

// defaultPath is what a command gets when nothing of the outside PATH is visible.
const defaultPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
