package decide

import (
	"cmp"
	"fmt"
	"maps"

	"carrel/internal/advice"
	"carrel/internal/config"
	"carrel/internal/container"
	"carrel/internal/hostexec"
	"carrel/internal/hostview"
	"carrel/internal/machine"
	"carrel/internal/machine/sentry"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/statedir"
)

// Container is where a workspace with backend container runs.
type Container struct {
	Engine  *container.Engine
	Image   string
	project *container.Project // what the project's devcontainer.json says of it
}

// chooseMachine finds what runs machines, and says what that of the project is made of.
func chooseMachine(p *Decision) (err error) {
	engine, blank := sandbox.Engine(p.Policy.Backend), "a machine has no display"
	w := machine.Wish{Project: p.Place.Project, Engine: p.Request.Engine, Image: p.Request.Image, Granted: p.grantedRoots()}
	for _, l := range p.mountLinks() {
		w.Links = append(w.Links, machine.Place{Host: l.Source, Guest: l.Target})
	}
	w.ID, w.Environ, w.UID, w.Network = statedir.ProjectID(p.Place.Project), p.Request.Environ, p.UID, p.Policy.Network
	w.Hosted = p.inVM()
	if p.inGvisor() {
		blank = "a sandbox of gVisor has no display"
		p.Machine, err = sentry.Choose(w.Engine, w.Image)
	} else {
		p.Machine, err = machine.Choose(w, &p.Loaded.Settings.Lima, &p.Loaded.Settings.VM)
	}
	if err != nil {
		return err
	}
	p.engine.program, p.engine.why = p.Machine.Version(), p.Reason(policy.DimBackend).Source.String()
	if p.Reason(policy.DimDisplay).Source.Layer == policy.LayerDefault && p.Policy.Display != policy.DisplayNone {
		p.withoutDesktop(blank)
	}
	if p.Request.Shell {
		p.Request.Argv = append([]string{ShellIn(p.Policy.Backend, p.Getenv)}, p.Request.Argv[1:]...)
	}
	return p.useEngine(engine)
}

// MachineEnviron are the variables of a command in a machine that has a system of its own.
func MachineEnviron(p *Decision) []string {
	extra := make(map[string]string)
	for _, some := range []map[string]string{p.proxyEnv(), p.agentEnv(), p.hostEnv(), p.Keyring.Env()} {
		maps.Copy(extra, some)
	}
	env, _ := hostview.Environ(p.Request.Environ, p.agentPasses(p.Policy.Env), extra)
	return machine.Variables(env, hostexec.ShimDir)
}

// MachineFiles are what carrel writes for programs inside of the person's git configuration, by its
// path below home.
func MachineFiles(p *Decision) map[string][]byte {
	for _, f := range p.view.Files {
		if f.Path == p.Place.Home+"/.gitconfig" && p.ofMachine() { // else the view has it
			return map[string][]byte{".gitconfig": f.Data}
		}
	}
	return nil
}

// MachineSockets are the sockets and addresses in a machine of the host protocol, and of the ssh agent.
func MachineSockets(p *Decision) (host, agent []string) {
	if p.ServesHost() {
		host = []string{hostexec.Socket}
		if at, ok := p.rpcAddress(); ok {
			host = append(host, at.String())
		}
	}
	return host, p.Keyring.Sockets()
}

// ContainerEngine finds the engine that the configuration names. One that cannot be used comes with an error.
func ContainerEngine(s *config.Settings, getenv func(string) string) (*container.Engine, error) {
	search := container.Search{Getenv: getenv} // any, where none is named
	if s.ContainerEngine != nil {
		search.Engine = s.ContainerEngine.V
	}
	return container.Find(search)
}

// chooseContainer finds the engine and the image. Nothing is started and asked.
func chooseContainer(p *Decision) error {
	if p.Request.Engine != "" {
		return &advice.Error{Err: fmt.Errorf("--engine %s: with --backend container the stage makes the walls", p.Request.Engine),
			Hint: "leave one of them out; container.engine names podman or docker"}
	}
	if d := p.Policy.Lookup("/"); d.Access == policy.Read || d.Access == policy.Write {
		return &advice.Error{Err: fmt.Errorf("%s: with --backend container what is at / is the image's", d.Rule.Source.Text),
			Hint: "name the files and directories of the host that you need"}
	}
	project, err := projectContainer(p)
	if err != nil {
		return err
	}
	image, err := imageOf(p, project)
	if err != nil {
		return err
	}
	found, err := ContainerEngine(&p.Loaded.Settings, p.Getenv)
	if err != nil {
		return err
	}
	p.Container = &Container{Engine: found, Image: image, project: project}
	why := "image " + image + " (" + cmp.Or(p.Reason(policy.DimBackend).Source.String(), "backend container") + ")"
	p.engine = engine{name: sandbox.EngineContainer, program: found.Kind, why: why}
	return nil // the plan is looked at when it is made, after the agent's home
}

// projectContainer reads the project's devcontainer.json, and takes its variables. What it asks
// for beyond what the user allows is told.
func projectContainer(p *Decision) (*container.Project, error) {
	s, use := &p.Loaded.Settings, config.DevcontainerRead
	if s.Devcontainer != nil {
		use = s.Devcontainer.V
	}
	if use == config.DevcontainerOff || p.Place.Project == "" {
		return &container.Project{}, nil
	}
	c, err := container.ReadProject(container.ProjectOptions{Project: p.Place.Project, Image: s.ImageAllowed, Env: s.ProjectMaySet,
		Run: use == config.DevcontainerRun})
	if err != nil {
		return nil, &advice.Error{Err: err, Hint: "`container.devcontainer: off` in your configuration does without it"}
	}
	source := func(line int, key string) policy.Source {
		return policy.Source{Layer: policy.LayerProject, File: c.File, Line: line, Text: key}
	}
	for _, i := range c.Ignored {
		p.Loaded.Warnings = append(p.Loaded.Warnings, policy.Warning{Source: source(i.Line, i.Key), Message: "ignored: " + i.Why})
	}
	env := &p.Policy.Env
	for name, v := range c.Env {
		if _, set := env.Set[name]; !set {
			env.Set[name] = policy.Value[string]{V: v, Source: source(0, name)}
		}
	}
	for _, name := range c.Drop {
		env.Drop = append(env.Drop, policy.Value[string]{V: name, Source: source(0, name)})
	}
	return c, nil
}

// lifecycle has the project's lifecycle commands run before a command, inside.
func lifecycle(p *Decision, c sandbox.Command) sandbox.Command {
	if p.Container == nil || p.Container.project == nil || len(p.Container.project.Lifecycle) == 0 || len(c.Argv) == 0 {
		return c
	}
	c.Argv, c.Path = p.Container.project.Enter(c.Argv), ""
	return c
}

// imageOf is the name of the image, by the operator, the command line, the project where the user
// allows that, or the user.
func imageOf(p *Decision, project *container.Project) (string, error) {
	set := p.Loaded.Settings.ContainerImage
	asked := p.Request.Image
	switch {
	case asked != "" && config.BadImage(asked) != "":
		return "", fmt.Errorf("--image %q: %s", asked, config.BadImage(asked))
	case asked != "" && set != nil && set.Source.Layer == policy.LayerOperator && set.V != asked:
		return "", fmt.Errorf("--image %s: the operator's file names the image %s (%s)", asked, set.V, set.Source)
	case asked != "":
		return asked, nil
	case set != nil && (project.Image == "" || set.Source.Layer == policy.LayerOperator):
		return set.V, nil
	case project.Image != "":
		return project.Image, nil
	}
	for _, i := range project.Ignored {
		if i.Key == "image" {
			return "", &advice.Error{Err: fmt.Errorf("backend container: no image is named, and %s:%d: %s", project.File, i.Line, i.Why),
				Hint: "--image NAME, or allow the project's in your configuration"}
		}
	}
	return "", &advice.Error{Err: fmt.Errorf("backend container (%s): no image is named", p.Reason(policy.DimBackend).Source),
		Hint: "--image NAME, or container.image in your configuration"}
}

// terminalIn gives what a command in a container needs of the person's terminal: the host's
// description where there is one. Else it is called what every image knows.
func (p *asked) terminalIn(env map[string]string) (file sandbox.Mount, described bool) {
	name := p.Getenv("TERM")
	if container.KnowsTerminal(name) {
		return file, false
	}
	if at, data := container.Terminfo(name); data != nil {
		env["TERMINFO_DIRS"] = container.TerminfoDir + ":" // and those of the image
		return sandbox.Mount{Kind: sandbox.MountData, Target: at, Data: data, Perm: 0o644, Reason: "your terminal"}, true
	}
	env["TERM"] = "xterm-256color"
	p.NoteOnce(fmt.Sprintf("this machine does not describe the terminal %q: in the container it is called xterm-256color", name))
	return file, false
}
