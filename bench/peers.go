package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// peer is one program that runs a command behind walls, or without any.
type peer struct {
	name    string
	version string
	note    string // what it is started with, for the report
	// argv gives the command line that runs command in dir; nil when the
	// program is not installed.
	argv func(dir string, command []string) []string
}

const (
	nameNative = "native"
	nameBwrap  = "bwrap"
	nameCarrel = "carrel"
)

// findPeers looks for every contender on this machine.
func findPeers(carrel string, f *fixture) []peer {
	npm := filepath.Join(os.Getenv("HOME"), ".cache/carrel-test/npm/node_modules/.bin")
	peers := []peer{
		{name: nameNative, note: "fork and exec, no walls", argv: func(_ string, c []string) []string { return c }},
		prefixed("unshare", find("unshare"), []string{"--version"}, "new user, mount, pid, ipc, uts and net namespaces and a fresh /proc; no view of its own",
			"--user", "--map-current-user", "--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts", "--net", "--mount-proc"),
		bwrap(find("bwrap")),
		bwrapSame(find("bwrap"), carrel, f.env),
		prefixed(nameCarrel, carrel, []string{"version"}, "`carrel run --`, as it comes", "run", "--"),
		prefixed("firejail", find("firejail"), []string{"--version"}, "no profile (the default one hides the project from root); no network, no capabilities, its seccomp list", "--quiet", "--noprofile", "--net=none", "--caps.drop=all", "--nonewprivs", "--seccomp"),
		prefixed("codex sandbox", find(filepath.Join(npm, "codex")), []string{"--version"}, "workspace-write, started through its npm script", "sandbox", "-c", `sandbox_mode="workspace-write"`, "--"),
		prefixed("srt", find(filepath.Join(npm, "srt")), []string{"--version"}, "writes to the working directory only, no hosts", "--settings", f.root+"/srt.json"),
	}
	for i := range peers {
		if peers[i].version != "" {
			peers[i].version = versionOf(f, peers[i].version)
		}
	}
	return peers
}

// prefixed is a peer whose command line is a fixed beginning and the command.
// Until findPeers has asked, version holds how to ask.
func prefixed(name, program string, ask []string, note string, args ...string) peer {
	p := peer{name: name, note: note}
	if program == "" {
		return p
	}
	p.version = strings.Join(append([]string{program}, ask...), "\x00")
	p.argv = func(_ string, c []string) []string { return slices.Concat([]string{program}, args, c) }
	return p
}

// bwrap gives bubblewrap the view that carrel gives by default, as far as it
// can be written down as arguments.
func bwrap(program string) peer {
	p := prefixed(nameBwrap, program, []string{"--version"}, "a plain view: /usr, /etc, /opt read-only, private home, /tmp, /run, /dev, /proc, all namespaces; no toolchains, masks or generated files, no seccomp, no Landlock")
	if program == "" {
		return p
	}
	args := bwrapView()
	p.argv = func(dir string, c []string) []string {
		return slices.Concat([]string{program}, args, []string{"--bind", dir, dir, "--chdir", dir}, c)
	}
	return p
}

func bwrapView() []string {
	args := []string{"--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc", "--ro-bind-try", "/opt", "/opt"}
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib64"} {
		if to, err := os.Readlink(dir); err == nil {
			args = append(args, "--symlink", to, dir)
		} else {
			args = append(args, "--ro-bind-try", dir, dir)
		}
	}
	if home := os.Getenv("HOME"); filepath.IsAbs(home) {
		args = append(args, "--tmpfs", home)
	}
	return append(args, "--tmpfs", "/tmp", "--tmpfs", "/run", "--dev", "/dev", "--proc", "/proc")
}

func find(name string) string {
	p, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return p
}

func versionOf(f *fixture, ask string) string {
	out, err := output(f.root, f.env, strings.Split(ask, "\x00"))
	if err != nil {
		return "version unknown"
	}
	return firstLine(out)
}
