//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
)

// without is how somebody asks for a workspace without walls.
var without = []string{"--backend", "none"}

// TestWithoutWalls: a command sees and does what its user can, is told as such, and
// what it does to the project is taken back and made again, whatever its name.
func TestWithoutWalls(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.litter = true // that is what there are no walls for
		w.write(w.home+"/.netrc", "the secret\n")
		w.write(w.outside+"/note", "outside\n")
		w.setenv("SOME_TOKEN", "passed on")
		w.furnish()
		w.outsideSh("git init -q . 2>/dev/null; mkdir -p .git/hooks; echo 'echo mine' > .git/hooks/pre-commit; echo K=v > .env")
		before := w.scene()
		script := `cat ~/.netrc "$1/note"; echo "$SOME_TOKEN $CARREL"; echo more >> "$1/note"; echo made > ~/made
echo 'echo theirs' > .git/hooks/post-commit; rm -rf .git/hooks/pre-commit .env; rm -rf ./*; mkdir -p .vscode; echo x > .vscode/tasks.json
readlink /proc/self/ns/net /proc/self/ns/ipc; ls "$XDG_RUNTIME_DIR/carrel" ~/.local/state/carrel ~/.config/carrel 2>&1`
		r := w.run(append(without, "--json", "--", "bash", "-c", script, "sh", w.outside)...)
		for _, want := range []string{"the secret\n", "outside\n", "passed on 1\n"} {
			if !strings.Contains(r.out, want) {
				t.Errorf("inside there is no %q: %s", want, r)
			}
		}
		for _, of := range []string{"net", "ipc"} {
			if ours, err := os.Readlink("/proc/self/ns/" + of); err != nil || !strings.Contains(r.out, ours) {
				t.Errorf("%s is not the host's, %s (%v): %s", of, ours, err, r)
			}
		}
		if strings.Count(r.out, "Permission denied") != 3 {
			t.Errorf("carrel's own files: %s", r)
		}
		said, told, _ := strings.Cut(r.err, "\n")
		if !strings.HasPrefix(said, "carrel: NO WALLS (--backend)") || !strings.Contains(said, w.project) {
			t.Errorf("announced: %s", r)
		}
		var result struct{ Engine, History string }
		if err := json.Unmarshal([]byte(told), &result); err != nil || result.Engine != "none" || result.History != "on" {
			t.Errorf("the result is %+v (%v): %s", result, err, r)
		}
		if got := w.read(w.outside + "/note"); got != "outside\nmore\n" || !exists(w.home+"/made") || exists(w.project+"/.env") {
			t.Errorf("outside the project there is %q", got)
		}
		after := w.scene()
		w.fine("undo")
		w.isAgain("undone", before)
		w.fine("redo")
		w.isAgain("again", after)
		w.fine("undo")
		w.isAgain("undone anew", before)
	})
}

// TestWithoutWallsStays: a workspace that stays is told as one without walls; what runs
// in it decides nothing about itself, and all of it ends with it.
func TestWithoutWallsStays(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.configured("safeguards: {removed_files: 2, then: ask}\n")
		w.outsideSh("mkdir d; for i in 1 2 3 4; do echo $i > d/f$i; done")
		s := w.stays("open", without...)
		if r := s.do("start", without...); r.code != 0 || !strings.Contains(r.err, "NO WALLS") {
			t.Errorf("started again: %s", r)
		}
		if r := s.do("start"); r.code != 125 || !strings.Contains(r.err, "backend: none") {
			t.Errorf("with walls it is another one: %s", r)
		}
		var list []struct{ Name, Backend string }
		if err := json.Unmarshal([]byte(w.fine("list", "--json")), &list); err != nil || len(list) != 1 || list[0].Backend != "none" {
			t.Errorf("list: %+v, %v", list, err)
		}
		for verb, out := range map[string]string{"list": w.fine("list"), "status": s.fine("status"), "events": s.fine("events", "--json"), "audit": w.fine("audit", "show", s.name)} {
			if !strings.Contains(out, "NO WALLS") {
				t.Errorf("%s does not say it: %s", verb, out)
			}
		}
		s.decides()
		s.launch("daemon", "(setsid sleep 4188 > /dev/null 2>&1 < /dev/null &)")
		eventually(t, "the daemon to run", func() bool { return s.runs("sleep 4188") })
		if s.fine("stop"); s.runs("sleep 4188") {
			t.Errorf("after the stop there is %v", s.inside())
		}
		s.fine("start", without...)
		s.ns = strings.TrimSpace(s.sh("readlink /proc/self/ns/pid"))
		s.launch("daemon", "(setsid sleep 4189 > /dev/null 2>&1 < /dev/null &)")
		eventually(t, "the daemon to run", func() bool { return s.runs("sleep 4189") })
		s.kill()
	})
}

// decides has a command held by a safeguard and says no to it outside, while another one
// tries to say yes and to lift what was said about control. The supervisor's socket has a
// second name for it, so that it can be reached at all.
func (s *stay) decides() {
	t, w := s.w.t, s.w
	t.Helper()
	door, tried := w.outside+"/door", w.outside+"/tried"
	w.must(os.Link(s.socket(), door))
	defer os.Remove(door)
	s.launch("tries", "until test -e "+w.outside+"/tries; do sleep 0.02; done; bash "+w.outside+"/tries > "+tried+".part 2>&1; mv "+tried+".part "+tried)
	app := s.launch("remove", "rm -rf d; ls d | wc -l > left")
	ask := w.held()
	s.fine("control", "read_only")
	tries := append(everything(app), `{"op":"approve","id":"`+ask.ID+`"}`, `{"op":"deny","id":"`+ask.ID+`"}`)
	script := w.bin + " approve " + ask.ID + " > /dev/null 2>&1 && echo approved\n"
	for _, line := range tries {
		script += built.attack + " ask " + door + " '" + line + "'\n"
	}
	w.write(w.outside+"/tries.part", script)
	w.must(os.Rename(w.outside+"/tries.part", w.outside+"/tries"))
	if r := w.plain(w.bin, "deny", w.held().ID); r.code != 0 {
		t.Errorf("deny: %s", r)
	}
	eventually(t, "the tries to be over", func() bool { return exists(tried) })
	if got := w.read(tried); strings.Count(got, `"code":"inside"`) != len(tries) || strings.Contains(got, `"ok":true`) || strings.Contains(got, "approved") {
		t.Errorf("inside, to the supervisor: %s", got)
	}
	if got := s.mode(); !strings.HasPrefix(got, "read_only") {
		t.Errorf("the control is %q", got)
	}
	eventually(t, "the command to end", func() bool { return !s.app(app).Running })
	if got := strings.TrimSpace(w.read(w.project + "/left")); got != "2" {
		t.Errorf("%q files are left, want the two beyond the bound", got)
	}
	s.person("control", "active")
}

// TestWithoutWallsAsked: nobody but the user has it, and nothing that it could not hold
// is asked for beside it.
func TestWithoutWallsAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true
	w.write(w.home+"/.netrc", "the secret\n")
	look := []string{"--", "cat", w.home + "/.netrc"}
	ceiling := w.write(w.outside+"/ceiling.yaml", "nested: full\n")
	for name, c := range map[string]struct {
		flags, words []string
	}{
		"under a ceiling":    {append(without, "--permissions", ceiling), []string{"backend", "none", ceiling, "process"}},
		"a closed network":   {append(without, "--network", "closed"), []string{"--network", "network closed cannot be held", "--backend"}},
		"what is hidden":     {append(without, "--deny", "*.pem"), []string{"--deny", "cannot be held"}},
		"an engine":          {append(without, "--engine", "namespaces"), []string{"--engine namespaces", "nothing makes walls"}},
		"the whole machine":  {append(without, "--write", "/"), []string{"history /", "cannot be recorded"}},
		"what is not there":  {append(without, "--write", w.home+"/none"), []string{w.home + "/none", "could not be recorded"}},
		"another backend":    {[]string{"--backend", "nothing"}, []string{`"nothing"`, "process or none"}},
		"a preset of walls":  {append(without, "--preset", "walled"), []string{"network closed cannot be held"}},
		"a preset says none": {[]string{"--preset", "open"}, []string{`unknown key "backend"`}},
	} {
		w.configured("")
		switch name {
		case "a preset of walls":
			w.configured("presets: {walled: {network: closed}}\n")
		case "a preset says none":
			w.configured("presets: {open: {backend: none}}\n")
		}
		if r := w.run(append(c.flags, look...)...); r.code != 125 || strings.Contains(r.out, "secret") {
			t.Errorf("%s: %s", name, r)
		} else {
			for _, word := range c.words {
				if !strings.Contains(r.err, word) {
					t.Errorf("%s: the message lacks %q: %s", name, word, r)
				}
			}
		}
	}
	w.configured("")
	w.write(w.project+"/.carrel.yaml", "backend: none\nnetwork: closed\n")
	if r := w.run(look...); r.code == 0 || strings.Contains(r.out, "secret") || !strings.Contains(r.err, w.project+"/.carrel.yaml:1:1: backend: ignored") {
		t.Errorf("a project asks for it: %s", r)
	}
	if r := w.run(append(without, look...)...); r.out != "the secret\n" || !strings.Contains(r.err, w.project+"/.carrel.yaml:2:10: network: not held") {
		t.Errorf("a project tightens: %s", r)
	}
	w.must(os.Remove(w.project + "/.carrel.yaml"))
	w.configured("backend: none\n")
	if r := w.run(look...); r.out != "the secret\n" || !strings.Contains(r.err, "NO WALLS ("+w.home+"/.config/carrel/config.yaml:1:10: backend)") {
		t.Errorf("the user's configuration asks for it: %s", r)
	}
	if r := w.run(append([]string{"--backend", "process"}, look...)...); r.code == 0 || strings.Contains(r.out, "secret") {
		t.Errorf("with walls by a flag: %s", r)
	}
	w.configured("")
	r := w.run(append(append(without, "--history", "off"), "--", "sh", "-c", "echo x > made; cat ~/.netrc; sleep 4190 &")...)
	if r.out != "the secret\n" || !strings.Contains(r.err, "NOTHING IS RECORDED") || !exists(w.project+"/made") || len(w.steps()) != 0 {
		t.Errorf("without history: %s", r)
	}
}

// TestWithoutWallsPlain: where there are no namespaces nothing is recorded, and that has
// to be asked for; what a command leaves behind ends with it all the same.
func TestWithoutWallsPlain(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("making a setuid program takes root")
	}
	w := newWorld(t, ordinary(t))
	w.litter = true
	w.write(w.home+"/.netrc", "the secret\n")
	w.wrap = refuseNamespaces("true")
	if r := w.run(append(without, "--", "cat", w.home+"/.netrc")...); r.code != 125 || strings.Contains(r.out, "secret") || !strings.Contains(r.err, "cannot be recorded") || !strings.Contains(r.err, "--history off") {
		t.Errorf("with history: %s", r)
	}
	off := append(without, "--history", "off")
	if r := w.run(append(off, "--", "sh", "-c", "cat ~/.netrc; echo x > made; (setsid sleep 4191 > /dev/null 2>&1 &)")...); r.code != 0 || r.out != "the secret\n" || !exists(w.project+"/made") || !strings.Contains(r.err, "NOTHING IS RECORDED") {
		t.Errorf("without: %s", r)
	}
	eventually(t, "all to be gone", func() bool { return w.sleeps("4191") == 0 }) // they are killed, and die in their own time
	cmd := w.command(w.bin, append(append([]string{"run"}, off...), "--", "sh", "-c", "(setsid sleep 4192 > /dev/null 2>&1 &); sleep 4192")...)
	w.must(w.start(cmd))
	eventually(t, "both to run", func() bool { return w.sleeps("4192") >= 2 })
	w.must(cmd.Process.Kill())
	_ = cmd.Wait()
	eventually(t, "all to be gone", func() bool { return w.sleeps("4192") == 0 })
	if r := w.plain(w.bin, append([]string{"start"}, off...)...); r.code != 125 || !strings.Contains(r.err, "needs namespaces") {
		t.Errorf("one that stays: %s", r)
	}
}

// sleeps counts this world's processes that sleep so long.
func (w *world) sleeps(seconds string) (n int) {
	for _, line := range w.processes() {
		if strings.Contains(line, "sleep "+seconds) && strings.HasPrefix(line, "sleep") {
			n++
		}
	}
	return n
}

// TestWithoutWallsNoFreshProc: where a fresh /proc is refused the one around is not shown
// either, as it leads to the project around what is recorded.
func TestWithoutWallsNoFreshProc(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("mounting a file system takes root")
	}
	w := newWorld(t, ordinary(t))
	w.litter = true
	pid := strconv.Itoa(w.sleeper().Process.Pid)
	way := "/proc/" + pid + "/root" + w.project + "/around"
	s := &covered[0]
	if r := s.start(w, nil, "sh", "-c", "echo x > "+way); r.code != 0 || !exists(w.project+"/around") {
		t.Fatalf("canary: %s", r)
	}
	w.must(os.Remove(w.project + "/around"))
	r := s.start(w, nil, w.bin, "run", "--backend", "none", "--", "sh", "-c", "echo x > "+way+"; echo y > made; cat made")
	if r.code != 0 || r.out != "y\n" || exists(w.project+"/around") || !strings.Contains(r.err, "refuses a fresh /proc") {
		t.Errorf("the command: %s", r)
	}
	if r := s.start(w, nil, w.bin, "undo"); r.code != 0 || exists(w.project+"/made") {
		t.Errorf("undo: %s", r)
	}
}
