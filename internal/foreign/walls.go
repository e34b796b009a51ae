package foreign

import (
	"slices"
	"strings"

	"carrel/internal/jsontree"
	"carrel/internal/pathname"
	"carrel/sandbox/policyfile"

	"carrel/internal/policy/pathglob"
)

// Names that srt and fence protect in all that may be written, at any depth.
var (
	guardedFiles = []string{".gitconfig", ".gitmodules", ".bashrc", ".bash_profile", ".zshrc", ".zprofile", ".profile", ".ripgreprc", ".mcp.json", ".vscode", ".idea", ".git/hooks"}
	guardedGit   = []string{".git/config"}
	guardedAgent = []string{".claude/commands", ".claude/agents"}
)

// fileLists are the lists of paths that srt and fence share.
type fileLists struct {
	*importer
	allowRead, denyRead, allowWrite, denyWrite []listed
	hidden                                     []listed // denied whatever else is said
	reads                                      bool     // everything that is not denied
	reopens                                    bool     // what is allowed for reading shows again in what denyRead denies
	gitConfig                                  bool     // .git/config may be changed
	guards                                     []string
	soft, hard                                 []string // places that are denied, by whether something in them can be allowed
}

type listed struct {
	node *jsontree.Node
	key  string
	text string
}

func (f *fileLists) members() []member {
	add := func(name string, list *[]listed) member {
		return f.list(name, func(n *jsontree.Node, key, text string) { *list = append(*list, listed{n, key, text}) })
	}
	return []member{
		add("allowRead", &f.allowRead), add("denyRead", &f.denyRead), add("allowWrite", &f.allowWrite), add("denyWrite", &f.denyWrite),
		f.flag("allowGitConfig", func(*jsontree.Node, string) { f.gitConfig = true }),
	}
}

// emit makes rules of the lists. A deny of writing is a pattern, which no rule
// opens: as a rule to read it would show what is denied around it.
func (f *fileLists) emit() {
	if f.reads {
		f.grant("/", policyfile.Read)
	}
	for _, l := range f.denyRead {
		f.denial(l, f.reopens)
	}
	for _, l := range f.hidden {
		f.denial(l, false)
	}
	var shown, written []string
	for _, l := range f.allowRead {
		if place, ok := f.granted(l); ok {
			f.grant(place, policyfile.Read)
			shown = append(shown, place)
		}
	}
	for _, l := range f.allowWrite {
		if place, ok := f.granted(l); ok && f.mayShow(l, place, shown) && f.writable(l, place) {
			written = append(written, place)
		}
	}
	for _, place := range shown { // the deeper rule decides, and may not take away what the other grants
		if deepest(written, place) != "" {
			f.grant(place, policyfile.Write)
		}
	}
	for _, l := range f.denyWrite {
		f.patterns(l, policyfile.Protect)
	}
	f.recorded()
}

// denial adds the rules of one entry.
func (f *fileLists) denial(l listed, soft bool) {
	text := whole(l.text)
	if isGlob(text) {
		f.patterns(l, policyfile.Deny)
		return
	}
	place, err := f.place(text)
	if err != nil {
		f.lose(l.node, l.key, "%q: %v", l.text, err)
		return
	}
	f.rule(policyfile.Rule{Path: place, Access: policyfile.Deny})
	if soft {
		f.soft = append(f.soft, place)
	} else {
		f.hard = append(f.hard, place)
	}
	if strings.Contains(text, "{") {
		f.patterns(l, policyfile.Deny)
	}
}

// whole is the place of an entry that ends in "/**", which means the directory
// with all that is in it.
func whole(text string) string {
	rest, ok := strings.CutSuffix(text, "/**")
	if ok && rest == "" {
		return "/"
	}
	return rest
}

// patterns adds what an entry takes away as patterns.
func (f *fileLists) patterns(l listed, a policyfile.Access) {
	text := whole(l.text)
	var globs []string
	var err error
	if strings.ContainsAny(text, "*?[{") {
		globs, err = f.globs(text)
	} else if text, err = f.place(text); err == nil {
		globs = []string{pathglob.Literal(text)}
	}
	if err != nil {
		f.lose(l.node, l.key, "%q: %v", l.text, err)
	}
	for _, glob := range globs {
		if glob == "/" {
			glob = "/**"
		}
		f.rule(policyfile.Rule{Glob: glob, Access: a})
	}
}

// granted is the place of an entry that allows.
func (f *fileLists) granted(l listed) (string, bool) {
	text := whole(l.text)
	if isGlob(text) {
		f.left(l.node, l.key, "%q: a pattern cannot allow; name the directory", l.text)
		return "", false
	}
	place, err := f.place(text)
	if err != nil {
		f.left(l.node, l.key, "%q: %v", l.text, err)
		return "", false
	}
	if pathname.Within(place, "/dev") || pathname.Within(place, "/proc") || pathname.Within(place, "/sys") {
		f.left(l.node, l.key, "%q: /dev, /proc and /sys are the command's own here", l.text)
		return "", false
	}
	if i := slices.IndexFunc(f.hard, func(dir string) bool { return pathname.Within(place, dir) }); i >= 0 {
		f.left(l.node, l.key, "%q is denied by %q", l.text, f.hard[i])
		return "", false
	}
	if slices.Contains(f.soft, place) {
		f.left(l.node, l.key, "%q is denied, too, and a deny wins", l.text)
		return "", false
	}
	return place, true
}

// mayShow says whether what may be written may be read as well, which a rule to
// write would let: what is allowed for reading has to lie deeper than what is
// denied.
func (f *fileLists) mayShow(l listed, place string, shown []string) bool {
	denied := deepest(f.soft, place)
	if denied == "" || len(deepest(shown, place)) > len(denied) {
		return true
	}
	f.left(l.node, l.key, "%q lies in %q, which is denied for reading; allow it for reading, too, if you mean that", l.text, denied)
	return false
}

// deepest is the last place that another lies in, "" for none.
func deepest(places []string, place string) string {
	out := ""
	for _, dir := range places {
		if pathname.Within(place, dir) && len(dir) > len(out) {
			out = dir
		}
	}
	return out
}

// writable adds what may be written, with the names that stay as they are, and says whether
// it did.
func (f *fileLists) writable(l listed, place string) bool {
	guards := slices.Concat(f.guards, guardedFiles)
	if !f.gitConfig {
		guards = append(guards, guardedGit...)
	}
	for _, g := range guards {
		if strings.Contains(place+"/", "/"+g+"/") {
			f.left(l.node, l.key, "%q: %s is protected whatever is allowed", l.text, g)
			return false
		}
	}
	f.grant(place, policyfile.Write)
	base := strings.TrimSuffix(pathglob.Literal(place), "/")
	f.rule(policyfile.Rule{Glob: base + "/**/{" + strings.Join(guards, ",") + "}", Access: policyfile.Protect})
	for _, g := range guards {
		if dir, name, deeper := strings.Cut(g, "/"); deeper && strings.HasSuffix(place, "/"+dir) {
			f.rule(policyfile.Rule{Glob: base + "/" + name, Access: policyfile.Protect})
		}
	}
	return true
}
