package decide

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/display"
	"carrel/internal/hostexec"
	"carrel/internal/inside"
	"carrel/internal/policy"
	"carrel/internal/view"
)

// defaultPath is what a command gets when nothing of the outside PATH is visible.
const defaultPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

// Environ builds the environment for every launch path, in one place and one
// order: allow-list and rules, what the defaults and the agent need, the
// display table last, so that nothing can bring a display variable back.
func (p *Decision) Environ() []string {
	if p.Request.Exact != nil {
		return p.exactEnviron()
	}
	if p.NoWalls() {
		return p.openEnviron()
	}
	extra := maps.Clone(p.view.Env)
	if extra == nil {
		extra = make(map[string]string)
	}
	extra["PATH"] = p.path()
	extra["CARREL_PATH"] = extra["PATH"] // login shells set PATH anew; the generated rc files restore it
	extra["PWD"] = p.Place.Cwd
	extra["TMPDIR"] = "/tmp"
	if p.Place.Home != "" {
		extra["HOME"] = p.Place.Home
	}
	maps.Copy(extra, p.proxyEnv())
	maps.Copy(extra, p.agentEnv())
	maps.Copy(extra, p.hostEnv())
	maps.Copy(extra, p.Keyring.Env())
	if Contained(p) {
		terminalIn(p, extra)
	}
	rules := p.agentPasses(p.Policy.Env)
	if p.Policy.Display == policy.DisplayHost {
		rules.Pass = slices.Clone(rules.Pass)
		for _, v := range display.Table() {
			rules.Pass = append(rules.Pass, policy.Value[string]{V: v.Name, Source: p.Reason(policy.DimDisplay).Source})
		}
	}
	env, _ := view.Environ(p.Request.Environ, rules, extra)
	o := display.Options{
		RuntimeDir: p.InsideRuntime(),
		Shim:       inside.Dir + "/xdg-open",
	}
	p.desktopOptions(&o)
	return display.Apply(env, p.Policy.Display, o)
}

// InsideRuntime is the runtime directory of programs inside.
func (p *Decision) InsideRuntime() string { return fmt.Sprintf("/run/user/%d", p.UID) }

// agentPasses adds what the agent's own variables are.
func (p *Decision) agentPasses(rules policy.Env) policy.Env {
	if p.Agent == nil {
		return rules
	}
	rules.Pass = slices.Clone(rules.Pass)
	for _, name := range p.Agent.EnvPass {
		rules.Pass = append(rules.Pass, policy.Value[string]{V: name, Source: policy.Source{Layer: policy.LayerDefault, Text: "agent " + p.Agent.Name}})
	}
	return rules
}

// noteUnset says which variables a flag names that there are none of.
func noteUnset(p *Decision) {
	for _, v := range p.Policy.Env.Pass {
		_, set := p.Policy.Env.Set[v.V]
		named := v.Source.Layer == policy.LayerCommandLine && !strings.ContainsAny(v.V, `*?[\`)
		if named && !set && !slices.ContainsFunc(p.Request.Environ, func(e string) bool { return strings.HasPrefix(e, v.V+"=") }) {
			p.Note("%s %s: there is no such variable here, so none is passed", v.Source.Text, v.V)
		}
	}
}

// path keeps of the outside PATH what is visible inside. The helpers come
// first: a link helper of the system would find no desktop.
func (p *Decision) path() string {
	dirs := []string{inside.Dir}
	if len(p.HostCommands()) > 0 {
		dirs = []string{hostexec.ShimDir, inside.Dir}
	}
	own := len(dirs)
	for _, d := range filepath.SplitList(p.Getenv("PATH")) {
		if Contained(p) {
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

// searchPath is the PATH that the command's own name is looked up in.
func (p *Decision) searchPath() string {
	if p.Request.Exact != nil {
		return lookupEnv(p.exactEnviron(), "PATH")
	}
	return p.Getenv("PATH")
}

// Getenv gives a variable of the outside environment, "" for one that is not set.
func (p *Decision) Getenv(name string) string { return lookupEnv(p.Request.Environ, name) }

// lookupEnv gives the last value of name, as a shell would see it.
func lookupEnv(env []string, name string) string {
	for _, e := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}
