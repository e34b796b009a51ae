package decide

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/hostfacts"
	"carrel/internal/hostview"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/profile"
	"carrel/internal/protectednames"
	"carrel/internal/sandbox"
)

// shown is a file or directory of the host as a workspace shows it.
type shown struct {
	profile.Mount        // its places absolute, as they were written
	real          string // where the one on the host leads
	extra         bool   // it is every workspace's, by extra_mounts, and not the profile's
}

// MountAnswer says of one mount what was written and what came of it.
type MountAnswer struct {
	Host, Real string // as it was written, and where that leads
	Inside     string // where it shows
	Access     policy.Access
	Source     policy.Source
}

// Mounts are the mounts of the configuration and of the profile.
func (p *mountable) Mounts() []MountAnswer {
	var out []MountAnswer
	for _, m := range p.mounts {
		at := m.real
		if p.elsewhere(&m) {
			at = m.Workspace
		}
		out = append(out, MountAnswer{Host: m.Host, Real: m.real, Inside: at, Access: p.Policy.Lookup(m.real).Access, Source: m.Source})
	}
	return out
}

// MountSources says for each of them who asked for it.
func (p *mountable) MountSources() []policy.Source {
	var out []policy.Source
	for _, m := range p.mounts {
		out = append(out, m.Source)
	}
	return out
}

// gatherMounts finds out what all mounts are, and refuses those that are not there
// or in each other's way. What is decided, recorded and undone is where they lead.
func (p *mountable) gatherMounts() error {
	p.mounts = nil
	for _, m := range p.Loaded.Mounts {
		for _, place := range []*string{&m.Host, &m.Workspace} {
			full, err := policy.Resolve(p.Place.Scope(nil), policy.FileRequest{Place: *place})
			if err != nil {
				return mountRefused(&shown{Mount: m}, err.Error(), "an absolute path is none of home")
			}
			*place = full[0]
		}
		p.mounts = append(p.mounts, shown{Mount: m, extra: true})
	}
	if p.profile != nil {
		for _, m := range p.profile.Mounts {
			p.mounts = append(p.mounts, shown{Mount: m})
		}
	}
	for i := range p.mounts {
		m := &p.mounts[i]
		var kind sandbox.Kind
		switch m.real, kind = p.Facts.Resolve(m.Host); {
		case kind == sandbox.KindOther:
			return mountRefused(m, "it is neither a file nor a directory", "sockets are granted with network.unix_sockets, devices with devices")
		case kind == sandbox.KindNone:
			return mountRefused(m, "it is no file or directory that is there", "make it, or take it out of "+m.where())
		}
	}
	return p.mountsPlaced()
}

// where names what a mount stands in.
func (m *shown) where() string {
	if m.extra {
		return "the configuration"
	}
	return "the profile"
}

// mountRefused is the refusal of a mount as such.
func mountRefused(m *shown, why, hint string) *api.Denial {
	leads := ""
	if m.real != "" && m.real != m.Host {
		leads = fmt.Sprintf(", which leads to %q,", m.real)
	}
	return &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: m.Host, Rule: "a mount shows what a workspace may see", Source: m.Source.String(),
		Message: fmt.Sprintf("%s: the mount %q%s cannot be shown: %s", m.Source, m.Host, leads, why), Hint: hint}
}

func movedRefused(m *shown, why string) error {
	return &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: m.Workspace, Rule: "a mount elsewhere shows where nothing else is", Source: m.Source.String(),
		Message: fmt.Sprintf("%s: the mount %q cannot show at %q: %s", m.Source, m.Host, m.Workspace, why), Hint: "give it another place inside, or leave that out: it shows at its host_path"}
}

// ownTrees are the places in which no mount shows elsewhere: they are the
// workspace's own or the system's, and programs trust what they find there.
var ownTrees = []string{"/proc", "/sys", "/dev", "/run", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/boot"}

// mountsPlaced refuses mounts that cannot show where somebody wants them, as far
// as that can be told without a plan, and one place with two modes: the wider one
// would hold, unsaid by whoever wrote the narrower.
func (p *mountable) mountsPlaced() error {
	for i := range p.mounts {
		m := &p.mounts[i]
		if why := badPlace(p.mounts, i); why != "" {
			return movedRefused(m, why)
		}
		for _, o := range p.mounts[:i] {
			if o.real == m.real && o.real != "" && o.Write != m.Write {
				return mountRefused(m, fmt.Sprintf("it is %s here and %s by %s", mountMode(m), mountMode(&o), o.Source), "a place has one mode wherever it shows: say the same in both")
			}
		}
	}
	return nil
}

func mountMode(m *shown) string {
	if m.Write {
		return "writable"
	}
	return "read-only"
}

// badPlace says what stands against a mount's place inside by its name alone,
// "" if nothing. Other mounts are looked at, too: a link in a link would be made in
// a directory of the host.
func badPlace(all []shown, i int) string {
	m := &all[i]
	switch {
	case m.Workspace == m.Host:
		return ""
	case m.Workspace == "/":
		return "it is everything"
	}
	for _, tree := range ownTrees {
		if pathname.Within(m.Workspace, tree) {
			return "what is in " + tree + " is the workspace's own"
		}
	}
	for j, o := range all {
		if i != j && o.Mount.Host == m.Host && o.Workspace == m.Workspace {
			continue // said twice, by the operator and the user say
		}
		for _, taken := range []string{o.Host, o.Workspace} {
			if pathname.Within(m.Workspace, taken) && (i != j || taken == o.Host) || pathname.Within(taken, m.Workspace) && taken != m.Workspace {
				return fmt.Sprintf("the mount %q is there, or around it, or in it (%s)", taken, o.Source)
			}
		}
	}
	return ""
}

// elsewhere says whether a mount needs a link to show where it is wanted.
func (p *mountable) elsewhere(m *shown) bool {
	return m.Workspace != m.Host || m.extra && m.Host != m.real && p.outOfSight(m)
}

// outOfSight says whether the path by which a mount was written leads nowhere inside: it
// goes through a link of the host that is not shown.
func (p *mountable) outOfSight(m *shown) bool {
	if p.NoWalls() || p.engine.name == sandbox.EngineLandlock {
		return false
	}
	for i := range p.mounts { // another mount may be that link
		o := &p.mounts[i]
		if o.Workspace != m.Workspace && pathname.Within(m.Workspace, o.Workspace) && p.Facts.Canonical(o.real+m.Workspace[len(o.Workspace):]) == m.real {
			return false
		}
	}
	link := m.Host
	for dir := path.Dir(link); dir != "/" && p.Facts.Canonical(dir) != dir; dir = path.Dir(dir) {
		link = dir
	}
	return !p.visible(path.Dir(link)) && !slices.ContainsFunc(p.view.Symlinks, func(l hostview.Symlink) bool { return l.Path == link })
}

// mountLinks are what shows mounts at another path than their own: links in the
// workspace's own file system. The host's path stays the one at which a mount is
// decided, recorded and undone, and what a rule hides or protects below it holds
// whichever way it is reached.
func (p *mountable) mountLinks() []sandbox.Mount {
	var links []sandbox.Mount
	for i := range p.mounts {
		m := &p.mounts[i]
		link := sandbox.Mount{Kind: sandbox.MakeSymlink, Target: m.Workspace, Source: m.real, Reason: m.Source.String()}
		same := func(o sandbox.Mount) bool { return o.Target == link.Target && o.Source == link.Source }
		if p.elsewhere(m) && !slices.ContainsFunc(links, same) {
			links = append(links, link)
		}
	}
	return links
}

// behind carries a path at which a mount shows to the host's.
func (p *mountable) behind(place string) string {
	for i := range p.mounts {
		if m := &p.mounts[i]; pathname.Within(place, m.Workspace) && p.elsewhere(m) {
			return path.Join(m.real, place[len(m.Workspace):])
		}
	}
	return place
}

// mountsAllowed refuses what the user's own configuration shows every workspace,
// and should show none. Who means it grants it for one command, by name.
func (p *mountable) mountsAllowed() error {
	for i := range p.mounts {
		m := &p.mounts[i]
		if !m.extra {
			continue
		}
		why := cmp.Or(p.mountTooWide(m), p.mountByOthers(m), p.mountOfCarrel(m), p.mountOfSecrets(m), p.mountOfGit(m), p.mountOfSockets(m))
		if why != "" {
			return mountRefused(m, why, "name what is needed of it, or grant it to one command with --read or --write")
		}
	}
	return nil
}

// mountTooWide: everything, what each workspace has of its own, and all of home or of the
// system for writing.
func (p *viewed) mountTooWide(m *shown) string {
	switch {
	case m.real == "/":
		return "it is everything"
	case ownPlace(m.real), m.real == "/tmp":
		return "every workspace has one of its own"
	case m.Write && p.Place.Home != "" && pathname.Within(p.Place.Home, m.real):
		return "your home directory lies in it: writable, it would let a command change what you run"
	}
	for _, dir := range p.view.System {
		if real := p.Facts.Canonical(dir); m.Write && pathname.Within(real, m.real) {
			return fmt.Sprintf("the system's %s lies in it", real)
		}
	}
	return ""
}

// mountOfSecrets: what the view hides. Where it lies in something that is shown
// read-only, it stays hidden.
func (p *viewed) mountOfSecrets(m *shown) string {
	for _, r := range p.view.Rules {
		if r.Access != policy.Deny || r.Glob {
			continue
		}
		real, kind := p.Facts.Resolve(r.Place)
		holds := m.Write && kind != sandbox.KindNone && !pathname.Within(real, p.Place.Project) // what is the project's is masked there
		if pathname.Within(m.real, real) || pathname.Within(m.real, r.Place) || holds && (pathname.Within(real, m.real) || pathname.Within(r.Place, m.real)) {
			return fmt.Sprintf("%q is hidden (%s)", r.Place, r.Source.Text)
		}
	}
	return ""
}

// mountOfGit: what git reads as its own, for writing. A repository's working tree
// may be written, where the broker holds the names in it that git acts on.
func (p *decided) mountOfGit(m *shown) string {
	if !m.Write {
		return ""
	}
	const acts = "git acts on what is there"
	for _, dir := range []string{p.Place.Git.Dir, p.Place.Git.Common} {
		if dir != "" && pathname.Within(m.real, dir) {
			return fmt.Sprintf("it lies in the project's repository, %q: %s", dir, acts)
		}
	}
	for dir := m.real; dir != "/"; dir = path.Dir(dir) {
		if path.Base(dir) == ".git" || len(protectednames.Present([]string{dir + "/HEAD", dir + "/objects", dir + "/refs"})) == 3 {
			return fmt.Sprintf("%q is a repository of git: %s", dir, acts)
		}
	}
	if p.Policy != nil && !p.History() && m.real != p.Place.Project && len(protectednames.Present([]string{m.real + "/.git"})) > 0 {
		return "it is the working tree of a repository, whose .git nothing protects with the history off"
	}
	return ""
}

// mountOfSockets: what programs outside listen at and start others for. Another
// socket that lies deep in a directory is masked alone.
func (p *networked) mountOfSockets(m *shown) string {
	if p.Policy == nil || p.NoWalls() {
		return ""
	}
	host := p.sockets()
	for _, s := range host.All() {
		if pathname.Within(s, m.real) && !host.Granted(s) && (policy.EngineSocket(s) || path.Dir(s) == m.real) {
			return fmt.Sprintf("a program outside listens at %q", s)
		}
	}
	return ""
}

// CheckMounts says what is wrong with the mounts of a configuration that was read
// with the same request, as far as that can be told before anything is decided; nil if
// nothing is.
func CheckMounts(req Request) ([]config.Problem, error) {
	p := newDecision(req)
	var err error
	if p.Place, err = hostfacts.FindPlace(req.Cwd, p.Getenv("HOME")); err != nil {
		return nil, err
	}
	if err := p.load(); err != nil || len(p.Loaded.Mounts) == 0 {
		return nil, err
	}
	err = p.gatherMounts()
	if err == nil {
		if p.view, err = hostview.Inspect(p.inspected(policy.HomeToolchains, false)); err != nil {
			return nil, err
		}
		err = p.mountsAllowed()
	}
	var refused *api.Denial
	if !errors.As(err, &refused) {
		return nil, err
	}
	return []config.Problem{problemOf(p.Loaded, refused)}, nil
}

// problemOf gives a refusal the place of the mount that it is about.
func problemOf(loaded *config.Loaded, d *api.Denial) config.Problem {
	out := config.Problem{Message: d.Message}
	for _, m := range loaded.Mounts {
		if s := m.Source; s.String() == d.Source {
			out = config.Problem{File: s.File, Line: s.Line, Column: s.Column, Key: s.Text, Message: strings.TrimPrefix(d.Message, d.Source+": ")}
		}
	}
	return out
}

// maxPathLinks is how many links one path may go through, as for the kernel.
const maxPathLinks = 40

// mountByOthers says why the links that a mount's path goes through are no word of the
// user's: one that lies where commands write may have been put there by one, and would
// choose what every later workspace sees.
func (p *mountable) mountByOthers(m *shown) string {
	done, rest := "/", strings.Split(m.Host, "/")
	for links := 0; len(rest) > 0 && links < maxPathLinks; {
		next := path.Join(done, rest[0])
		rest = rest[1:]
		target, err := os.Readlink(next)
		if err != nil || next == done { // no link
			done = next
			continue
		}
		if dir := p.writtenIn(m, done); dir != "" && !pathname.Within(m.real, dir) {
			return fmt.Sprintf("%q is a link that leads out of %q, where commands write", next, dir)
		}
		links++
		if path.IsAbs(target) {
			done = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return ""
}

// writtenIn gives the place around a directory that commands may write: the project, a
// writable mount, or what is the project of another command, as it is the working tree of a
// repository. A home that is kept in one is no project. "" if there is none.
func (p *mountable) writtenIn(m *shown, dir string) string {
	if pathname.Within(dir, p.Place.Project) {
		return p.Place.Project
	}
	for i := range p.mounts {
		if o := &p.mounts[i]; o.Write && o.Source != m.Source && pathname.Within(dir, o.real) {
			return o.real
		}
	}
	for at := dir; at != "/" && !pathname.Within(p.Place.Home, at); at = path.Dir(at) {
		if len(protectednames.Present([]string{at + "/.git"})) > 0 {
			return at
		}
	}
	return ""
}
