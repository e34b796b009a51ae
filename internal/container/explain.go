package container

import (
	"fmt"
	"strings"

	"carrel/internal/advice"
)

// known are the complaints of engines that have a fix: text, all of which stands in what the
// engine says, what that means and what mends it. %s is the engine's name.
var known = []struct {
	text      []string
	why, hint string
}{
	{[]string{"crun: cgroups in hybrid mode not supported"},
		"%s refuses: crun does not know hybrid cgroups", `set runtime = "runc" below [engine] in containers.conf`},
	{[]string{"default OCI runtime", "not found"},
		"%s refuses: the runtime that its configuration names is not installed", "install it, or set runtime below [engine] in containers.conf"},
	{[]string{"error setting rlimit"},
		"%s refuses: it may not raise limits here",
		`set default_ulimits = ["nofile=1024:4096", "nproc=1000:2000"] below [containers] in containers.conf`},
	{[]string{"Cannot connect to the Docker daemon"},
		"%s is installed, and its daemon does not answer", "start it with `systemctl start docker`, or set `container.engine: podman`"},
	{[]string{"permission denied while trying to connect to the Docker daemon"},
		"%s's daemon refuses this user", "use rootless podman, by `container.engine: podman`; the group docker is as good as root"},
	{[]string{"Cannot connect to Podman"},
		"%s is configured to use a service on another machine; the broker needs this kernel",
		"unset CONTAINER_HOST, and active_service in containers.conf"},
	{[]string{"newuidmap"},
		"%s has no user ids for containers of this user", "install uidmap, and have root give you a range in /etc/subuid and /etc/subgid"},
	{[]string{"no subuid ranges found"},
		"%s has no user ids for containers of this user", "have root give you a range in /etc/subuid and /etc/subgid"},
	{[]string{"User-selected graph driver", "overwritten by graph driver"},
		"%s keeps the storage driver that its database was made with", "`podman system reset` removes all images and lets it choose anew"},
	{[]string{"no such image"}, "%s has no such image", "`carrel container pull` fetches one, `carrel container import` makes one"},
	{[]string{"No such image"}, "%s has no such image", "`carrel container pull` fetches one, `carrel container import` makes one"},
	{[]string{"image not known"}, "%s has no such image", "`carrel container pull` fetches one, `carrel container import` makes one"},
	{[]string{"no space left on device"}, "%s has no space left for images", "`carrel container prune` removes those that Carrel made"},
	{[]string{"connection refused"}, "%s could not reach the registry", "see whether the name is right, and whether a proxy is needed"},
	{[]string{"no such host"}, "%s could not reach the registry", "see whether the name is right, and whether this machine is connected"},
	{[]string{"short-name", "did not resolve"}, "%s does not know which registry has this image",
		"write the registry before the name: registry/name:tag"},
}

// Explain makes an error of what an engine said when it failed: what and why, with the fix
// where it is known.
func (e *Engine) Explain(what string, cause error, said string) error {
	line := lastLine(said)
	for _, k := range known {
		all := true
		for _, t := range k.text {
			all = all && strings.Contains(said, t)
		}
		if all {
			return &advice.Error{Err: fmt.Errorf(k.why+" (%s)", e.Kind, line), Hint: k.hint}
		}
	}
	if line == "" {
		return fmt.Errorf("%s: %w", what, cause)
	}
	return &Failure{What: what, Said: line, cause: cause}
}

// Failure is an error of an engine for which no fix is known.
type Failure struct {
	What, Said string
	cause      error
}

func (f *Failure) Error() string { return f.What + ": " + f.Said }
func (f *Failure) Unwrap() error { return f.cause }

// lastLine is the last line that says something, on which engines put the reason.
func lastLine(said string) string {
	last := ""
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); line != "" {
			last = line
		}
	}
	const most = 500
	if len(last) > most {
		last = strings.ToValidUTF8(last[:most], "") + "..."
	}
	return strings.TrimPrefix(last, "Error: ")
}
