//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestCeilingOfTheHistory: what a ceiling says of undo holds for its callers, and for
// whoever asks a workspace that was started under it.
func TestCeilingOfTheHistory(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		preview, none := w.write(w.outside+"/preview.json", `{"undo": "preview", "apps": {"allow": ["bash", "cat", "readlink"]}}`), w.write(w.outside+"/none.json", `{"undo": "none"}`)
		w.write(w.project+"/notes", "before\n")
		s := w.stays("held", "--permissions", preview)
		s.sh("echo after > notes")
		under := func(file string, args ...string) result {
			return w.plain(w.bin, append([]string{"--permissions", file}, args...)...)
		}
		refusedBy(t, "undo by its user, while it runs", w.plain(w.bin, "undo"), "undo asks for all", "allows preview", "preview.json:1:10")
		for _, args := range [][]string{{"undo"}, {"redo"}, {"discard", "1", "--yes"}, {"history", "gc"}, {"undo", "--force"}} {
			refusedBy(t, strings.Join(args, " "), under(preview, args...), "allows preview")
			refusedBy(t, strings.Join(args, " "), under(none, args...), "allows none")
		}
		for _, args := range [][]string{{"undo", "--dry-run"}, {"diff", "1"}, {"show", "1"}, {"history"}} {
			if r := under(preview, args...); r.code != 0 || r.out == "" {
				t.Errorf("looking, %q: %s", args, r)
			}
			refusedBy(t, "looking under none, "+strings.Join(args, " "), under(none, args...), "allows none")
		}
		s.fine("stop")
		refusedBy(t, "undo after its end", under(preview, "undo"), "allows preview")
		if got := w.read(w.project + "/notes"); got != "after\n" {
			t.Errorf("notes: %q", got)
		}
		if r := w.plain(w.bin, "undo"); r.code != 0 || w.read(w.project+"/notes") != "before\n" {
			t.Errorf("canary, its user without a ceiling: %s", r)
		}
	})
}

// TestCeilingExpires: at its time what runs stands still and may only be looked at, held
// and stopped; and nothing is started any more.
func TestCeilingExpires(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		end := time.Now().Add(4 * time.Second)
		file := w.write(w.outside+"/until.json", fmt.Sprintf(`{"expires": %q}`, end.Format(time.RFC3339Nano)))
		s := w.stays("until", "--permissions", file)
		app := s.launch("counter", counting("n"))
		s.fine("terminal start", "--name", "t", "--", "cat")
		cmd, one := w.desk("--permissions", file, "--", "bash", "-c", counting("m"))
		eventually(t, "both to count", func() bool { return exists(w.project+"/n") && exists(w.project+"/m") })
		if r := s.do("exec", "--", "true"); r.code != 0 {
			t.Fatalf("canary: %s", r)
		}
		if c := s.ceiling(); c.Expired || !c.Expires.Equal(end.Truncate(0)) {
			t.Errorf("before: %+v, want %s", c, end)
		}
		time.Sleep(time.Until(end) + 300*time.Millisecond)
		eventually(t, "both to be paused", func() bool {
			n, m := w.read(w.project+"/n"), w.read(w.project+"/m")
			time.Sleep(300 * time.Millisecond)
			return n == w.read(w.project+"/n") && m == w.read(w.project+"/m") && s.status().State == "paused"
		})
		if c := s.ceiling(); !c.Expired {
			t.Errorf("after: %+v", c)
		}
		for _, args := range [][]string{
			{"exec", "--", "true"}, {"launch", "--", "true"}, {"terminal start"}, {"terminal send", "t", "--text", "x"}, {"kill", app},
		} {
			refusedBy(t, args[0], s.do(args[0], args[1:]...), "expires", "until.json:1:")
		}
		for _, args := range [][]string{{"logs", app}, {"terminal read", "t"}, {"apps"}, {"events"}, {"control", "read_only"}, {"pause"}} {
			if r := s.do(args[0], args[1:]...); r.code != 0 {
				t.Errorf("%s is refused: %s", args[0], r)
			}
		}
		tm := w.inTerminal(w.command(w.bin, "control", "until", "active"))
		if said := tm.all(); !strings.Contains(said, "expires") {
			t.Errorf("a person goes on: %q", said)
		}
		if d := s.status(); d.State != "paused" || d.Control.Mode != "paused" {
			t.Errorf("%+v", d)
		}
		got := kinds(s.events())
		if got["ceiling_expired"] != 1 || got["denial"] == 0 || got["ceiling_refused"] == 0 {
			t.Errorf("events: %v", got)
		}
		if r := w.plain(w.bin, "denials"); !strings.Contains(r.out, "expires") {
			t.Errorf("no denial says why: %s", r)
		}
		refusedBy(t, "another start", w.plain(w.bin, "--permissions", file, "start", "more"), "expires", "until.json:1:")
		refusedBy(t, "run", w.run("--permissions", file, "--", "true"), "expires")
		refusedBy(t, "undo", w.plain(w.bin, "--permissions", file, "undo"), "expires")
		s.fine("stop")
		if r := w.plain(w.bin, "stop", one.ID); r.code != 0 {
			t.Errorf("stop of a run: %s", r)
		}
		_ = cmd.Wait()
	})
}

// TestCeilingOfPrograms: what is not listed is refused in words when it is asked for, and
// by the walls when it is started from within.
func TestCeilingOfPrograms(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		file := w.write(w.outside+"/apps.json", `{"apps": {"allow": ["/usr/bin/bash", "readlink"]}}`)
		w.script(w.project+"/bash", "#!/usr/bin/bash\necho mine\n")
		s := w.stays("apps", "--permissions", file)
		if out := s.fine("exec", "--", "bash", "-c", "echo yes"); out != "yes\n" {
			t.Errorf("canary: %q", out)
		}
		for _, args := range [][]string{{"exec", "--", "env"}, {"exec", "--", "/usr/bin/env"}, {"exec", "--", "./bash"}, {"exec", "--", w.project + "/bash"}, {"launch", "--", "touch", "made"}, {"terminal start", "--", "cat"}, {"exec", "--env", "PATH=" + w.project, "--", "touch", "made"}} {
			refusedBy(t, strings.Join(args, " "), s.do(args[0], args[1:]...), "programs: ", "asks for", "/usr/bin/bash", "apps.json:1:")
		}
		for _, script := range []string{"env", "./bash", "exec touch made", "cp /usr/bin/touch t; ./t made"} {
			if r := s.do("exec", "--", "bash", "-c", script); r.code == 0 {
				t.Errorf("%s, from within: %s", script, r)
			}
		}
		if exists(w.project + "/made") {
			t.Error("something was made")
		}
		inside := s.do("exec", "--", "bash", "-c", `exec 3<>/dev/tcp/127.0.0.1/1; carrel launch apps -- touch made`)
		if inside.code == 0 || exists(w.project+"/made") {
			t.Errorf("a launch from within: %s", inside)
		}
		refusedBy(t, "run", w.run("--permissions", file, "--", "env"), "programs: ", `asks for "env"`)
	})
}

// TestCeilingIsNotWidened: no profile, preset, project file, flag or variable gives more
// than the ceiling, and each that asks is refused or told.
func TestCeilingIsNotWidened(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.litter = true // its own configuration
		w.need("curl")
		port := hostServer(t)
		file := w.write(w.outside+"/c.json", `{"network": {"mode": "local_only"}, "apps": {"allow": ["bash", "curl", "readlink", "true"]}}`)
		wide := w.write(w.outside+"/wide.yaml", "network: open\napps: [{command: [bash, -c, 'sleep 60']}]\n")
		other := w.write(w.outside+"/other.yaml", "apps: [{command: [env]}]\n")
		under := func(args ...string) result {
			return w.plain(w.bin, append([]string{"--permissions", file}, args...)...)
		}
		for name, words := range map[string][]string{"wide": {"network", "open", "local"}, "other": {"programs", "env"}} {
			from := map[string]string{"wide": wide, "other": other}[name]
			refusedBy(t, "put of "+name, under("profile", "put", name, from), words...)
			if r := w.plain(w.bin, "profile", "put", name, from); r.code != 0 {
				t.Fatalf("canary, put without a ceiling: %s", r)
			}
			refusedBy(t, "check of "+name, under("profile", "check", name), words...)
			refusedBy(t, "start of "+name, under("start", "x", "--profile", name), words...)
			refusedBy(t, "dry run of "+name, under("start", "x", "--profile", name, "--dry-run"), words...)
		}
		refusedBy(t, "template", under("profile", "template", "restricted-browser", "--allow-host", "example.com"), "network")
		w.write(w.home+"/.config/carrel/config.yaml", "presets: {p: {command: [curl], network: open}, q: {command: [env]}}\n")
		refusedBy(t, "a preset", under("run", "--preset", "p", "--", "true"), "network")
		refusedBy(t, "a preset's program", under("run", "--preset", "q"), `"env"`)
		w.setenv("CARREL_NETWORK", "open")
		refusedBy(t, "a variable", under("start", "x"), "CARREL_NETWORK", "open")
		w.unsetenv("CARREL_NETWORK")
		w.write(w.home+"/.config/carrel/config.yaml", "network: open\n")
		refusedBy(t, "the user's file", under("start", "x"), "network", "open")
		w.write(w.home+"/.config/carrel/config.yaml", "{}\n")
		w.write(w.project+"/.carrel.yaml", "network: open\nprograms: {allow: [env]}\n")
		get := []string{"curl", "-sS", "--max-time", "3", "http://127.0.0.1:" + port}
		if r := w.plain(get[0], get[1:]...); r.code != 0 {
			t.Fatalf("canary: %s", r)
		}
		r := under("run", "--", "bash", "-c", "exit 7")
		if r.code == 7 {
			t.Errorf("the project's list of programs leaves none, and bash was started: %s", r)
		}
		w.write(w.project+"/.carrel.yaml", "network: open\n")
		s := &stay{w: w, name: "narrow"}
		t.Cleanup(s.end)
		if r := under("start", "narrow"); r.code != 0 || !strings.Contains(r.err, "ignored") {
			t.Errorf("a project's file: %s", r)
		}
		s.ns = strings.TrimSpace(s.sh("readlink /proc/self/ns/pid"))
		if r := s.do("exec", append([]string{"--"}, get...)...); r.code == 0 {
			t.Errorf("the host is reached: %s", r)
		}
		var d struct {
			Policy []struct{ Dimension, Value string }
		}
		s.json(&d, "status")
		for _, one := range d.Policy {
			if one.Dimension == "network" && one.Value != "closed" && one.Value != "local" {
				t.Errorf("%+v", one)
			}
		}
	})
}

// TestPermissionsCommands: what the commands print, for people and programs.
func TestPermissionsCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	show := func(args ...string) (v struct {
		Configured, Restricted, Expired, Same, Valid bool
		Source, Hash                                 string
		Advisories                                   []struct{ Dimension, Subject, Message string }
		Ceilings                                     []struct {
			Dimensions []struct{ Dimension, Value string }
		}
		Changes []struct {
			Dimension  string
			More, Less []string
		}
	}) {
		t.Helper()
		r := w.plain(w.bin, args...)
		if err := json.Unmarshal([]byte(r.out), &v); err != nil || r.code != 0 {
			t.Fatalf("%q: %v: %s", args, err, r)
		}
		return v
	}
	if v := show("permissions", "show", "--json"); v.Configured || v.Restricted || v.Hash != "" {
		t.Errorf("none: %+v", v)
	}
	local := w.write(w.outside+"/local.json", w.plain(w.bin, "permissions", "template", "local", "--allow-host", "localhost:3000", "--mount", w.project+":/w:rw", "--app", "bash").out)
	closed := w.write(w.outside+"/closed.json", w.plain(w.bin, "permissions", "template", "disabled").out)
	if text := w.read(closed); !strings.Contains(text, `"disabled"`) || !strings.Contains(w.read(local), `"local_only"`) || w.plain(w.bin, "permissions", "template", "open").out != "{}\n" {
		t.Errorf("templates: %s", text)
	}
	v := show("--permissions", local, "permissions", "show", "--json")
	if !v.Configured || !v.Restricted || v.Source != local || len(v.Hash) != 64 || len(v.Ceilings) != 1 || len(v.Advisories) != 2 {
		t.Errorf("%+v", v)
	}
	if again := show("permissions", "validate", "--json", local); !again.Valid || again.Hash != v.Hash {
		t.Errorf("%+v", again)
	}
	if d := show("permissions", "diff", "--json", local, closed); d.Same || len(d.Changes) == 0 || d.Changes[0].Dimension != "network" || d.Changes[0].Less[0] != "local" {
		t.Errorf("%+v", d)
	}
	inside := w.write(w.project+"/c.json", fmt.Sprintf(`{"mounts": [{"host_path": %q, "mode": "read_write"}]}`, w.project))
	if v := show("permissions", "validate", "--json", inside); len(v.Advisories) != 1 || !strings.Contains(v.Advisories[0].Message, "own file") {
		t.Errorf("a file that it lets be written: %+v", v.Advisories)
	}
	refusedBy(t, "a host of a closed one", w.plain(w.bin, "permissions", "template", "closed", "--allow-host", "localhost:1"), "--allow-host")
	refusedBy(t, "an unknown kind", w.plain(w.bin, "permissions", "template", "ajar"), "no kind")
	refusedBy(t, "a mount with dots", w.plain(w.bin, "permissions", "template", "open", "--mount", "/a/../b:/w"), "..")
	refusedBy(t, "a mistake", w.plain(w.bin, "permissions", "validate", w.write(w.outside+"/bad.json", `{"mounts": [{"host_path": "x"}]}`)), "1 mistake")
}
