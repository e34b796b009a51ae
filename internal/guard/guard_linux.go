package guard

import (
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"carrel/internal/broker"
	"carrel/internal/gitconf"
	"carrel/internal/gitdir"
	"carrel/internal/hostview"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/protect"
	"carrel/internal/secrets"
)

// Config is what a [Guard] decides by. Only Policy is needed; a function that is nil says
// no.
type Config struct {
	Policy  *policy.Effective
	Project string
	Git     gitdir.Dirs // the project's own
	Roots   []string
	Write   []string                // git directories outside the project that commits need
	Guarded []policy.Rule           // protected names that exist, by their own path
	Named   []gitconf.Target        // what git's configuration names in the places that can be written
	Mounts  []policy.Source         // sources of mounts: they name a place for whatever project there is
	Trees   []string                // working trees of the project's repository, but for its own
	Seconds map[broker.Inode]string // files with a protected name, by whose other names they can be written
	// Configs says whether a path is the configuration of one of the project's
	// repositories, whose changes are vetted.
	Configs   func(path string) bool
	Passwords []string       // configurations that a password is hidden of
	Secrets   []string       // files of secrets in the project that are hidden, and may be removed
	Starts    []string       // files that may be started
	Programs  broker.Verdict // what is said of others
	// State is the state directory, in which programs inside have private places; "" for
	// none. Private says whether a name is that of a project in it.
	State   string
	Private func(name string) bool
	Exact   bool // the policy is all: no name is protected by itself
	// Strict has each file that is opened looked at for secrets. MadeInside says which
	// are the run's own.
	Strict     bool
	MadeInside func(at string, in broker.Inode) bool
	// Restoring: an undo asks. What it brings back was there when it was removed,
	// and what is protected cannot have been made inside. Exactly: it goes back to what
	// the whole project was.
	Restoring, Exactly bool
	With               *Guard // of a run in the same walls: what one of them makes, the other works with
}

// Guard decides changes by the policy, and by the names that make the user run code
// later, whether a rule speaks of them or not. It implements [broker.Decider].
type Guard struct {
	facts
	starts   map[string]bool
	hidden   hidden
	worktree *worktree
}

// facts are what a Guard knows of names, of repositories on the disk, and of what the run
// has made.
type facts struct {
	c       Config
	named   *namedTargets
	fold    map[string]bool       // roots on a file system that compares names without case
	folding func(dir string) bool // [FoldsCase]
	cases   cases
	began   time.Time
	*births
}

// New gives the guard of one run.
func New(c Config) *Guard {
	if c.Configs == nil {
		c.Configs = func(string) bool { return false }
	}
	if c.Private == nil {
		c.Private = func(string) bool { return false }
	}
	if c.MadeInside == nil {
		c.MadeInside = func(string, broker.Inode) bool { return false }
	}
	named := &namedTargets{start: c.Named, own: c.Git.Common, nested: make(map[string][]gitconf.Target), judged: make(map[string][]gitconf.Target)}
	d := &Guard{starts: make(map[string]bool)}
	d.facts = facts{c: c, named: named, folding: FoldsCase, fold: make(map[string]bool), began: time.Now()}
	if c.With != nil {
		d.births, d.worktree = c.With.births, c.With.worktree
	} else {
		d.births = &births{born: make(map[string]bool), listed: make(map[string]bool), came: make(map[string]bool)}
		d.worktree = newWorktree(c.Git)
	}
	for _, r := range c.Roots {
		d.fold[r] = FoldsCase(r)
	}
	for _, f := range c.Starts {
		d.starts[f] = true
	}
	return d
}

// Decide implements [broker.Decider].
func (d *Guard) Decide(ch *broker.Change) broker.Verdict {
	if ch.Op == broker.OpExec {
		return d.start(ch)
	}
	if at, reason := d.c.secretOf(ch); at != "" {
		v := refusal(at, hostview.SecretPrefix+reason, "default", "")
		v.Hint = "--read " + at
		return v
	}
	if ch.Op == broker.OpRead {
		return d.c.reading(ch.Path)
	}
	if at := d.hidden.of(ch); at != "" {
		return refusal(at, hostview.SecretPrefix+secrets.Match(path.Dir(at), path.Base(at)).Reason, "default", at)
	}
	v := d.one(ch, ch.Path, ch.Op != broker.OpLink)
	if !v.Allowed || ch.To == "" {
		if v.Vet != nil && ch.To != "" {
			return refusal(ch.Path, "protected name: it may be replaced, not moved away", "default", ch.Path)
		}
		return v
	}
	if v.Vet != nil {
		return refusal(ch.Path, "protected name: it may be replaced, not moved away", "default", ch.Path)
	}
	if v := d.one(ch, ch.To, true); !v.Allowed {
		return v
	} else if below, refused := d.c.carriesRule(ch); refused {
		return below
	} else {
		return v
	}
}

// start says whether a program is one of those that the kernel lets start.
func (d *Guard) start(ch *broker.Change) broker.Verdict {
	if d.starts[ch.Path] {
		return broker.Verdict{Allowed: true}
	}
	return d.c.Programs
}

// one decides one path of a change; writes says whether the change is one of
// this path, and not only a use of it.
func (d *Guard) one(ch *broker.Change, at string, writes bool) broker.Verdict {
	l := d.c.Policy.Lookup(at)
	if d.c.Restoring && l.Access == policy.Deny && l.Rule != nil && l.Rule.Source.Text == hostview.Unlooked {
		l = d.c.Policy.Lookup(path.Dir(l.Rule.Path)) // a step took the right to read it; what was there is no secret by that
	}
	if ch.Op == broker.OpSymlink && d.c.leads(ch.Text, path.Dir(at)) {
		return refusal(at, "it leads to where programs inside write unseen", "default", "")
	}
	switch {
	case l.Access == policy.Deny && ch.Op == broker.OpUnlink && slices.Contains(d.c.Secrets, at):
		return broker.Verdict{Allowed: true} // what is gone tells nothing, and the history has it
	case l.Access == policy.Deny:
		if r := l.Rule; r != nil && r.Source.Layer == policy.LayerDefault && r.Path != "" {
			return refusal(at, r.Source.Text, "default", r.Path)
		}
		return byRule(refusal(at, "denied: "+RuleText(l.Rule), SourceOf(l.Rule), ""), l.Rule)
	case l.Protected:
		return byRule(refusal(at, "protected: "+RuleText(l.Rule), SourceOf(l.Rule), ""), l.Rule)
	case l.Access != policy.Write && !slices.ContainsFunc(d.c.Write, func(w string) bool { return pathname.Within(at, w) }):
		return byRule(refusal(at, "read-only: "+RuleText(l.Rule), SourceOf(l.Rule), at), l.Rule)
	case d.c.Exact || l.Access == policy.Write && d.c.granted(at, l.Rule): // one for reading says nothing of what a commit needs there
		return broker.Verdict{Allowed: true}
	}
	if opens(ch) {
		return broker.Verdict{Allowed: true}
	}
	// A worktree may go, with the hooks in it.
	goes := removes(ch) && slices.ContainsFunc(d.c.Trees, func(tree string) bool { return pathname.Within(at, tree) })
	if of := d.c.second(ch, at); of != "" {
		return refusal(at, "protected name: it is "+of+", too", "default", of)
	}
	if g := d.c.guard(ch, at); g != nil && !goes {
		return refusal(at, g.Source.Text, "default", g.Path)
	}
	if (writes || ch.Op == broker.OpLink) && !d.c.Restoring {
		if whose := d.worktree.foreign(ch, at, d.bears); whose != "" {
			return refusal(at, "linked worktree: this is "+whose, "default", at)
		}
		if d.worktree.packed(at) && ch.Op == broker.OpRename {
			return broker.Verdict{Allowed: true, Vet: d.worktree.packs, Rule: "linked worktree", Source: "default", Hint: "--write " + at}
		}
	}
	if g, t := d.target(ch, at); g != nil && !goes {
		if v, ok := d.c.copies(ch, at, t); ok {
			return v
		}
		return refusal(at, g.Source.Text, "default", g.Path)
	}
	if !writes {
		// A second name would let a protected file be written under it.
		rule, level := d.name(at)
		if level != protect.Protected {
			u := d.unnamed(ch, at)
			rule, level = u.rule, u.level
		}
		if level == protect.Protected {
			return refusal(at, "protected name: "+rule, "default", at)
		}
		if v, is := d.gitFile(ch, at); is {
			return v
		}
		for _, other := range others {
			if v, is := other(d, ch, at); is {
				return v
			}
		}
		return broker.Verdict{Allowed: true}
	}
	v := d.byName(ch, at)
	if hash, ok := d.rehashed(ch, at); ok && v.Allowed {
		empties, err := otherwise(ch, path.Dir(at), hash)
		if err != nil {
			return refusal(at, "in a git directory: "+err.Error(), "default", at)
		}
		v.Alone, v.Empties = true, empties
	}
	return v
}

// granted says whether the user named the place, or one around it below the
// root: that is a word about what lies there. A mount is none: it was named for
// whatever project there is.
func (c *Config) granted(at string, r *policy.Rule) bool {
	if r != nil && slices.ContainsFunc(c.Mounts, func(m policy.Source) bool { return m == r.Source }) {
		return false
	}
	return r != nil && r.Path != "" && r.Source.Layer < policy.LayerProject && !slices.Contains(c.Roots, r.Path) && pathname.Within(at, r.Path)
}

// guard finds an existing protected name that a change is of, or that it would
// carry along.
func (c *Config) guard(ch *broker.Change, at string) *policy.Rule {
	for i := range c.Guarded {
		g := &c.Guarded[i]
		if pathname.Within(at, g.Path) && !c.Configs(g.Path) || pathname.Within(g.Path, at) && at != g.Path && (ch.Op == broker.OpRename || ch.Op == broker.OpExchange) {
			return g
		}
	}
	return nil
}

// reading decides an open for reading. Only patterns and hidden files of secrets are
// decided here: what another rule hides by its path is a mount in the mirror too, and what
// else is mounted in a root is the workspace's own.
func (c *Config) reading(at string) broker.Verdict {
	l := c.Policy.Lookup(at)
	if l.Access == policy.Deny && l.Rule != nil && (l.Rule.Glob != "" || slices.Contains(c.Secrets, at)) {
		return byRule(refusal(at, "denied: "+RuleText(l.Rule), SourceOf(l.Rule), ""), l.Rule)
	}
	return broker.Verdict{Allowed: true}
}

// others decide what is of other programs than git that keep versions.
var others = []func(d *Guard, ch *broker.Change, at string) (broker.Verdict, bool){jujutsu, mercurial}

// byName applies the rules for names.
func (d *Guard) byName(ch *broker.Change, at string) broker.Verdict {
	why := d.brings(ch, at)
	if why == "" {
		why = d.takes(ch, at)
	}
	if why == "" {
		why = d.odd(ch, at)
	}
	if why == "" && d.resolves(ch, at) {
		why = "git would copy what a link leads to, see MERGE_RR"
	}
	if why != "" {
		return refusal(at, "in a git directory: "+why, "default", at)
	}
	birth, born := d.birth(ch, at)
	if carries(ch, at) {
		if rule, ok := protect.Renamed(d.c.relative(at), d.folds(at)); ok && !(born && probe(ch, at)) && !d.returns(ch, at) {
			return refusal(at, "protected name: "+rule, "default", at)
		}
	}
	if born {
		return birth
	}
	rule, level := d.name(at)
	u := d.unnamed(ch, at)
	if u.level > level {
		rule, level = u.rule, u.level
	}
	v := d.byLevel(ch, at, rule, level)
	if v.Allowed && u.completes && protect.InNewRepository(path.Base(at), d.folds(at)) {
		v = d.vetted(ch, at)
	}
	if r, is := d.gitFile(ch, at); is && v.Allowed && v.Vet == nil {
		v = r
	}
	for _, other := range others {
		if r, is := other(d, ch, at); is && v.Allowed && v.Vet == nil {
			v = r
		}
	}
	v.Alone = v.Alone || u.piece
	return v
}

// byLevel decides by what a name is.
func (d *Guard) byLevel(ch *broker.Change, at, rule string, level protect.Level) broker.Verdict {
	switch level {
	case protect.Protected:
		if removes(ch) && d.Removable(at) || d.c.Exactly && ch.Kind == broker.KindNone && d.Removable(at) {
			return broker.Verdict{Allowed: true}
		}
		if path.Base(at) == "config" && ch.Op == broker.OpChmod && (ch.Mode^ch.Was.Mode)&0o7777 == 0o100 {
			return broker.Verdict{Allowed: true} // by this "git init" finds out whether modes are kept, and writes down what it found
		}
		if base := path.Base(at); (base == "config" || base == "config.worktree") && ch.Op == broker.OpRename && at == ch.To {
			vet := d.worktree.vetConfig(at, d.c.vetChange(at))
			return broker.Verdict{Allowed: true, Vet: vet, Rule: "protected name: " + rule, Source: "default", Hint: "--write " + at}
		}
		if base := path.Base(at); (base == "config" || base == "config.worktree") && ch.Op == broker.OpRename {
			return broker.Verdict{Allowed: true, Vet: gitconf.VetChange}
		}
		if v, is := movesTree(d, ch, at); is {
			return v
		}
		return refusal(at, "protected name: "+rule, "default", at)
	case protect.Listed:
		d.list(ch, at)
		if d.folded(path.Base(at), at) == ".git" {
			return d.pointer(ch, at)
		}
	}
	return broker.Verdict{Allowed: true}
}

// errPassword: the new file would lack what was hidden of the old one.
var errPassword = errors.New("it holds a password, which is hidden inside and would be lost; a credential helper keeps one out of it")

// vetChange judges a new configuration for one that was there.
func (c *Config) vetChange(at string) func(before, after []byte) error {
	if slices.Contains(c.Passwords, at) {
		return func(_, _ []byte) error { return errPassword }
	}
	if !newGitDir(path.Dir(at)) || path.Base(path.Dir(at)) == ".git" || !strings.Contains(at, "/modules/") {
		return gitconf.VetChange
	}
	return func(before, after []byte) error {
		return gitconf.VetSubmodule(before, after, func(tree string) bool { return c.treeOf(path.Dir(at), tree) })
	}
}

// removes says whether a change takes a name away and puts it nowhere else.
func removes(ch *broker.Change) bool {
	return ch.Op == broker.OpUnlink || ch.Op == broker.OpRmdir
}

// Removable says whether a protected name may be removed: what is gone runs
// nothing, and its name stays protected. The project's own repository and what
// is protected at the top of a root stay.
func (d *facts) Removable(at string) bool {
	return !d.c.own(at) && !protect.AtTop(d.c.relative(at), d.folds(at))
}

// own says whether a path is in the project's own git directory, and not in the
// part of another worktree or of a submodule.
func (c *Config) own(at string) bool {
	if c.Git.Common == "" {
		return false
	}
	if pathname.Within(at, c.Git.Dir) && c.Git.Dir != c.Git.Common {
		return true
	}
	if !pathname.Within(at, c.Git.Common) {
		return false
	}
	part, _, _ := strings.Cut(strings.TrimPrefix(at[len(c.Git.Common):], "/"), "/")
	return part != "worktrees" && part != "modules"
}

// carries says whether a change brings content to a name without writing it.
func carries(ch *broker.Change, at string) bool {
	switch ch.Op {
	case broker.OpRename:
		return at == ch.To && (ch.Kind == broker.KindDir || ch.Kind == broker.KindSymlink)
	case broker.OpExchange:
		return ch.Kind != broker.KindFile || ch.Over != broker.KindFile
	case broker.OpSymlink:
		return true
	case broker.OpLink:
		return at == ch.To && ch.Kind == broker.KindSymlink
	}
	return false
}

// name judges a path from its root, and from the file system's root: a git
// directory may itself be a root, as that of a worktree is.
func (d *facts) name(at string) (string, protect.Level) {
	rule, level := protect.Name(d.c.relative(at), d.folds(at))
	if r, l := protect.Name(strings.TrimPrefix(at, "/"), d.folds(at)); l > level && (l == protect.Protected || d.c.Git.Common != "" && pathname.Within(at, d.c.Git.Common)) {
		return r, l
	}
	return rule, level
}

func (c *Config) relative(at string) string {
	for _, r := range c.Roots {
		if pathname.Within(at, r) {
			return strings.TrimPrefix(strings.TrimPrefix(at, r), "/")
		}
	}
	return strings.TrimPrefix(at, "/")
}

// folds says whether a name is compared without case: in the whole root, or in
// a directory on the way that has a rule or a file system of its own. Those are
// looked at only where it matters for the name.
func (d *facts) folds(at string) bool {
	for _, r := range d.c.Roots {
		if !pathname.Within(at, r) {
			continue
		}
		if d.fold[r] || !d.cases.matters(strings.TrimPrefix(at[len(r):], "/")) {
			return d.fold[r]
		}
		for dir := path.Dir(at); pathname.Within(dir, r) && dir != r; dir = path.Dir(dir) {
			if d.folding(dir) {
				return true
			}
		}
		return false
	}
	return false
}

func refusal(at, rule, source, write string) broker.Verdict {
	v := broker.Verdict{Rule: rule, Source: source, Hint: "leave out the rule"}
	if write != "" {
		v.Hint = "--write " + write
	}
	return v
}

// byRule puts the hint into a refusal by a rule. Whoever runs the command cannot widen what
// the operator's file or a ceiling says, so the hint names no flag there.
func byRule(v broker.Verdict, r *policy.Rule) broker.Verdict {
	switch {
	case r != nil && r.Source.Layer == policy.LayerOperator:
		v.Hint = "no flag widens it: the operator's file decides this"
	case r != nil && r.Source.Layer == policy.LayerCeiling:
		v.Hint = "no flag widens it: the ceiling decides this"
	}
	return v
}

// RuleText gives the pattern or the path of a rule, nil being none.
func RuleText(r *policy.Rule) string {
	switch {
	case r == nil:
		return "no rule"
	case r.Glob != "":
		return r.Glob
	}
	return r.Path
}

// SourceOf says where a rule comes from, nil being the defaults.
func SourceOf(r *policy.Rule) string {
	if r == nil {
		return "default"
	}
	return r.Source.String()
}
