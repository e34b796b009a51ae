//go:build linux

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pageBox is one of the backends that the page of shared features is about.
type pageBox struct {
	name, asks string // asks is the person's own configuration that asks for it
	marker     string // a file that is there, and not on the host
	world      func(t *testing.T) *world
}

var pageBoxes = []pageBox{
	{"container", "backend: container\ncontainer: {image: '" + smallImage + "'}\n", "/etc/marker",
		func(t *testing.T) *world { return contained(t, namedContainers) }},
	{limaColumn, "backend: lima\n" + limaSettings, "/run/carrel-ready", machined},
	{gvisorColumn, "backend: gvisor\n", "/.carrel-relay", func(t *testing.T) *world {
		w := gvisorWorld(t, ordinary(t))
		for _, name := range pageAgents {
			w.agentScript(name, obedient)
		}
		return w
	}},
}

// pageWorld is one backend in a world of its own.
type pageWorld struct {
	*world
	pageBox
}

// eachBox runs what a part of the page says, line by line, with each backend.
func eachBox(t *testing.T, follow func(t *testing.T, w *pageWorld)) {
	t.Parallel()
	for _, b := range pageBoxes {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := &pageWorld{b.world(t), b}
			w.litter = true // logins and directories that are to be there afterwards
			follow(t, w)
		})
	}
}

// set writes the person's own configuration.
func (p *pageWorld) set(config string) { p.t.Helper(); p.config(config + "\n" + p.asks) }

// lists sets host commands, with hx among them, and more configuration.
func (p *pageWorld) lists(config string) { p.t.Helper(); p.hostCommands("- hx\n" + config + p.asks) }

// says wants each line of a script's output, in this order and nothing between.
func says(t *testing.T, r result, lines ...string) {
	t.Helper()
	if want := strings.Join(lines, "\n") + "\n"; r.code != 0 || r.out != want {
		t.Errorf("it said %q, want %q: %s", r.out, want, r)
	}
}

// TestSharedExtraMounts: "Extra mounts" of the page, line by line.
func TestSharedExtraMounts(t *testing.T) { eachBox(t, followMounts) }

func followMounts(t *testing.T, w *pageWorld) {
	w.set("extra_mounts:\n- ~/notes\n- host_path: ~/shared-data\n  guest_path: /mnt/shared\n  writable: true\n" +
		"- ~/one/file\n- {host_path: ~/one/other, guest_path: /mnt/their/name, writable: true}\n")
	first, other := w.write(w.home+"/one/file", "first\n"), w.write(w.home+"/one/other", "second\n")
	beside := w.write(w.home+"/one/beside", "no\n")
	note, data := w.write(w.home+"/notes/n", "a note\n"), w.write(w.home+"/shared-data/d", "as it was\n")
	secret := w.write(w.outside+"/secret", "secret\n")
	w.write(w.project+"/.carrel.yaml", "extra_mounts: ["+w.outside+"]\n")
	r := w.run("--", "sh", "-c", "cat "+note+" /mnt/shared/d; echo x >"+note+" || echo held; rm "+note+" || echo held; "+
		"cat "+secret+" || echo hidden; echo changed >/mnt/shared/d; echo new >/mnt/shared/new")
	says(t, r, "a note", "as it was", "held", "held", "hidden")
	if !strings.Contains(r.err, ".carrel.yaml:1:1: extra_mounts: ignored") {
		t.Errorf("a project's mounts are not warned of: %s", r)
	}
	if w.read(note) != "a note\n" || w.read(data) != "changed\n" || w.read(w.home+"/shared-data/new") != "new\n" {
		t.Error("what is read-only was written, or what is writable was not")
	}
	w.fine("undo")
	if w.read(data) != "as it was\n" || exists(w.home+"/shared-data/new") {
		t.Error("a writable mount is not undone")
	}
	// Files, of which nothing beside is there.
	r = w.run("--", "sh", "-c", "cat "+first+" /mnt/their/name; echo changed >/mnt/their/name; echo x >"+first+" || echo held; "+
		"cat "+beside+" || echo hidden")
	says(t, r, "first", "second", "held", "hidden")
	if w.read(first) != "first\n" || w.read(other) != "changed\n" {
		t.Error("a file that is read-only was written, or one that is writable was not")
	}
	// What is mounted changes with the configuration, without a machine or image made anew.
	w.set("extra_mounts: [~/one]\n")
	says(t, w.run("--", "sh", "-c", "cat "+beside+"; cat "+note+" || echo hidden"), "no", "hidden")
}

// TestSharedHostCommands: "Host command proxying", "Security model" and "Sound notifications"
// of the page, line by line.
func TestSharedHostCommands(t *testing.T) { eachBox(t, followHostCommands) }

func followHostCommands(t *testing.T, w *pageWorld) {
	w.lists("")
	w.write(w.home+"/.ssh/id_x", "KEY\n")
	w.write(w.home+"/.cargo/registry/index", "cached\n")
	w.write(w.project+"/sub/f", "x\n")
	w.setenv("OUTSIDE_SECRET", "a secret")
	for i, e := range w.env {
		if rest, ok := strings.CutPrefix(e, "PATH="); ok {
			w.env[i] = "PATH=tools:" + rest + ":." // what is relative is anyone's
		}
	}
	w.write(w.project+"/.carrel.yaml",
		"host_commands: [rm]\nrpc_host: 192.0.2.1\ndangerously_allow_unsandboxed_host_exec: true\nagent_config_dir: ~/mine\n")
	// A listed command is a shim; its streams come at once, with its status, and it has the
	// host's programs, not those inside.
	r := w.run("--", "bash", "-c", `type -P hx
		hx -c 'echo out; echo err >&2; exit 7' 2>errors; echo $? $(cat errors)
		hx -c 'echo one; until test -e seen; do sleep .02; done; echo two' | while read l; do echo $l; touch seen; done
		test -e `+w.marker+` && echo inside; hx -c 'test -e `+w.marker+` || echo the host; uname -s'
		hx -c 'printf "%s\n" "$@"' x '$(touch owned); a b' "c'd"`)
	says(t, r, "/run/carrel/shims/hx", "out", "7 err", "one", "two", "inside", "the host", "Linux", "$(touch owned); a b", "c'd")
	for _, key := range []string{"host_commands", "rpc_host", "dangerously_allow_unsandboxed_host_exec", "agent_config_dir"} {
		if !strings.Contains(r.err, ": "+key+": ignored") {
			t.Errorf("%s of a project is not warned of: %s", key, r)
		}
	}
	if exists(w.project+"/owned") || w.read(w.project+"/errors") != "err\n" {
		t.Error("words were read by a shell, or the streams were one")
	}
	// What is not listed is not there; the environment is clean; the file system is held; the
	// working directory is the project's.
	r = w.run("--", "bash", "-c", `readlink -f $(type -P rm) | grep -c carrel; ls /run/carrel/shims
		hx -c 'echo "[$OUTSIDE_SECRET] $HOME"; case ":$PATH:" in *:tools:*|*:.:*) echo relative;; esac'
		hx -c 'cat ~/.ssh/id_x 2>/dev/null || echo hidden; cat ~/.cargo/registry/index; touch ~/made /usr/made 2>/dev/null || echo held; echo y >made-in-project'
		cd sub; hx -c pwd; cd /tmp; hx -c pwd 2>/dev/null || echo held`)
	says(t, r, "0", "hx", "[] "+w.home, "hidden", "cached", "held", w.project+"/sub", "held")
	if w.read(w.project+"/made-in-project") != "y\n" || exists(w.home+"/made") {
		t.Error("a host command does not write the project, or writes more")
	}
	// Built in, without being listed: the sound goes to the host, which has no way to play it.
	if r = w.run("--", "afplay", "/System/Library/Sounds/Glass.aiff"); r.code != 1 || !strings.Contains(r.err,
		"there is no terminal to ring") {
		t.Errorf("a sound: %s", r)
	}
	if r = w.run("--", "afplay", "/nothing/Glass.wav"); r.code != 1 || !strings.Contains(r.err, "is not played") {
		t.Errorf("a file for a sound: %s", r)
	}
	for _, name := range []string{"../hx", "a b", ".", "x;y", "-x"} {
		w.hostCommands("- '" + name + "'\n")
		if r = w.run("--", "true"); r.code != 125 || !strings.Contains(r.err, "config.yaml:2:3: host_commands") {
			t.Errorf("a name that is none: %q: %s", name, r)
		}
	}
	w.lists("dangerously_allow_unsandboxed_host_exec: true\n")
	if r = w.run("--", "bash", "-c", `hx -c 'cat ~/.ssh/id_x; echo [$OUTSIDE_SECRET]'`); r.out != "KEY\n[]\n" {
		t.Errorf("without walls by the person's own word: %s", r)
	}
}

// logins of agents: the file, and what the host has there at first and after a renewal inside.
var logins = []struct{ agent, file, first, renewed string }{
	{"claude", ".claude/.credentials.json", `{"claudeAiOauth":{"refreshToken":"r1","expiresAt":1000}}`,
		`{"claudeAiOauth":{"refreshToken":"r2","expiresAt":2000}}`},
	{"gemini", ".gemini/oauth_creds.json", `{"refresh_token":"r1","access_token":"a","expiry_date":1000}`,
		`{"refresh_token":"r2","access_token":"b","expiry_date":2000}`},
	{"codex", ".codex/auth.json", `{"tokens":{"refresh_token":"r1"},"last_refresh":"2026-01-01T00:00:00Z"}`,
		`{"tokens":{"refresh_token":"r2"},"last_refresh":"2026-02-01T00:00:00Z"}`},
	{"opencode", ".local/share/opencode/auth.json", `{"x":{"type":"oauth","refresh":"r1","access":"a","expires":1000}}`,
		`{"x":{"type":"oauth","refresh":"r2","access":"b","expires":2000}}`},
}

// TestSharedCredentials: "Credentials", "Custom config directory" and the troubleshooting of the
// page, line by line. The agents are scripts of the image or the machine.
func TestSharedCredentials(t *testing.T) { eachBox(t, followCredentials) }

func followCredentials(t *testing.T, w *pageWorld) {
	w.set("")
	others := ""
	for _, l := range logins {
		at := w.write(w.home+"/"+l.file, l.first)
		others += "test -e ~/" + l.file + " || echo hidden; "
		r := w.run("--", l.agent, "cat ~/"+l.file+"; printf '%s' '"+l.renewed+"' >~/"+l.file)
		if r.code != 0 || !strings.Contains(r.out, "r1") {
			t.Errorf("%s: its login: %s", l.agent, r)
		}
		if got := w.read(at); !strings.Contains(got, "r2") {
			t.Errorf("%s: what was renewed inside is not outside: %s", l.agent, got)
		}
	}
	// Only the agent that runs has its own, and what is no agent has none.
	says(t, w.run("--", "noagent", others), "hidden", "hidden", "hidden", "hidden")
	says(t, w.run("--", "gemini", others), "hidden", "hidden", "hidden")
	// A shell for the first login; then every run has it.
	w.must(os.Remove(w.home + "/" + logins[0].file))
	if r := w.carrel("shell", "--agent", "claude", "--", "-c",
		"L='"+firstLogin+"' claude 'printf %s \"$L\" >~/.claude/.credentials.json'"); r.code != 0 {
		t.Errorf("a login in a shell: %s", r)
	}
	says(t, w.run("--", "claude", "grep -o r1 ~/.claude/.credentials.json; echo '{\"kept\": 1}' >$CLAUDE_CONFIG_DIR/.claude.json"), "r1")
	says(t, w.run("--", "claude", "grep -o kept $CLAUDE_CONFIG_DIR/.claude.json"), "kept")
	// A directory of their own is made, kept apart from the host's, and stays.
	w.set("agent_config_dir: ~/sandbox-config/{agent}\n")
	says(t, w.run("--", "codex", "test -e ~/.codex/auth.json || echo none; echo own >~/.codex/config.toml"), "none")
	says(t, w.run("--", "codex", "cat ~/.codex/config.toml"), "own")
	if w.read(w.home+"/sandbox-config/codex/config.toml") != "own\n" || exists(w.home+"/.codex/config.toml") {
		t.Error("agent_config_dir")
	}
}

// TestSharedToolchain: host commands run in the environment that the project describes for Devbox.
func TestSharedToolchain(t *testing.T) {
	eachBox(t, func(t *testing.T, w *pageWorld) {
		w.lists("toolchain: auto\n")
		w.script(w.home+"/tools/devbox", fakeDevbox)
		says(t, w.run("--", "bash", "-c", `hx -c 'echo "[$FROM_DEVBOX]"'`), "[]")
		w.write(w.project+"/devbox.json", "{}\n")
		says(t, w.run("--", "bash", "-c", `hx -c 'echo "$FROM_DEVBOX" | tail -n 1'`), "and long")
	})
}

// TestSharedProtocol: "RPC protocol" of the page, line by line, and what it says of coordinators:
// what would start an agent elsewhere is refused with its reason.
func TestSharedProtocol(t *testing.T) {
	eachBox(t, func(t *testing.T, w *pageWorld) {
		w.lists("rpc_host: 127.0.0.1\nnetwork: local\n")
		s := w.stays("rpc")
		defer s.end()
		got := s.sh(`say() { exec 3<>/dev/tcp/$WM_RPC_HOST/$WM_RPC_PORT; printf '%s\n' "$@" >&3; read -r answer <&3; echo "$answer"; exec 3>&-; }
			for request in '{"type":"Heartbeat"}' '{"type":"SetStatus","status":"working"}' '{"type":"SetTitle","title":"tests"}' \
				'{"type":"SpawnAgent"}' '{"type":"Merge"}' '{"type":"Exec","command":"hx","args":["-c","echo out"]}'; do
				say "{\"token\":\"$WM_RPC_TOKEN\"}" "$request"
			done
			say '{"token":"wrong"}' '{"type":"Heartbeat"}'; test $WM_SANDBOX_GUEST = 1 && echo guest`)
		lines := strings.Split(strings.TrimSpace(got), "\n")
		want := []string{`"Ok"`, `"Ok"`, `"Ok"`, "this workspace gives no tasks", "this workspace gives no tasks", `out\n`,
			"Invalid token", "guest"}
		if len(lines) != len(want) {
			t.Fatalf("it said %s", got)
		}
		for i, text := range want {
			if !strings.Contains(lines[i], text) {
				t.Errorf("it lacks %q: %s", text, lines[i])
			}
		}
		told := ""
		for _, e := range s.events() {
			told += e.Kind + ": " + e.Text + "\n"
		}
		for _, want := range []string{"note: status: working\n", "note: title: tests\n", "host_exec: hx -c"} {
			if !strings.Contains(told, want) {
				t.Errorf("events lack %q: %s", want, told)
			}
		}
	})
}

// TestMachineTakesNewBuild: "Installing local builds" of the page in machines, which takes no command
// there: the next run puts another build of the relay into the machine.
func TestMachineTakesNewBuild(t *testing.T) {
	t.Parallel()
	w := machined(t)
	relay := w.base + "/bin/carrel-relay"
	sum := func() string {
		return strings.Fields(w.sh("sha256sum $(readlink /run/carrel/bin/carrel-file)", inMachine...))[0]
	}
	first := sum()
	other, err := os.OpenFile(relay, os.O_APPEND|os.O_WRONLY, 0)
	w.must(err)
	_, err = other.WriteString("another build")
	w.must(errors.Join(err, other.Close()))
	if second, want := sum(), strings.Fields(w.outsideSh("sha256sum " + relay))[0]; second != want || second == first {
		t.Errorf("the relay there was %s, and is %s in place of %s", first, second, want)
	}
}

// TestSharedInstallDev: "Installing local builds" of the page: what is built of a source tree is
// in Carrel's images, and a workspace that runs is told to start anew.
func TestSharedInstallDev(t *testing.T) {
	t.Parallel()
	c := namedContainers
	if os.Getuid() == 0 {
		c = rootContainers // the cache of builds is that of who runs the tests
	}
	w := contained(t, c)
	w.litter = true
	c.alone.Lock()
	defer c.alone.Unlock()
	archive, err := smallTar()
	w.must(err)
	const image = "localhost/carrel-e2e:dev"
	w.fine("container", "import", archive, image)
	defer w.carrel("container", "prune", "--all")
	w.fine("start", "--backend", "container", "--image", image, "box")
	defer w.carrel("stop", "box")
	cache, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	w.must(err)
	places := strings.Fields(string(cache))
	tool, err := exec.LookPath("go")
	w.must(err)
	w.setenv("PATH", filepath.Dir(tool)+":/usr/bin:/bin")
	w.env = append(w.env, "GOCACHE="+places[0], "GOMODCACHE="+places[1], "GOFLAGS=-mod=readonly")
	for _, flags := range [][]string{nil, {"--skip-build"}} {
		cmd := w.command(w.bin, append([]string{"install-dev"}, flags...)...)
		cmd.Dir = ".."
		r := w.finish(cmd)
		if r.code != 0 || !strings.Contains(r.out, "image "+image+" has it") || !strings.Contains(r.out,
			"stays as it is: its system is read-only") {
			t.Errorf("%q: %s", flags, r)
		}
		if built := strings.Contains(r.err, "building for "); built != (flags == nil) {
			t.Errorf("%q: built %v: %s", flags, built, r)
		}
	}
	w.fine("stop", "box")
	r := w.run("--backend", "container", "--image", image, "--", "sh", "-c", "/usr/local/bin/carrel --version; cat /etc/marker")
	if r.code != 0 || !strings.HasPrefix(r.out, "carrel ") || !strings.HasSuffix(r.out, imageMarker) {
		t.Errorf("in the image: %s", r)
	}
}
