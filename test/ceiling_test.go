//go:build linux

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// toldCeiling is what a workspace tells of its ceiling.
type toldCeiling struct {
	Hash, Source string
	Expires      time.Time
	Expired      bool
}

func (s *stay) ceiling() (c toldCeiling) {
	s.w.t.Helper()
	var d struct{ Ceiling toldCeiling }
	s.json(&d, "status")
	return d.Ceiling
}

// refusedBy wants a refusal of a ceiling with all the words.
func refusedBy(t *testing.T, what string, r result, words ...string) {
	t.Helper()
	if r.code != 125 {
		t.Errorf("%s is not refused: %s", what, r)
	}
	for _, word := range words {
		if !strings.Contains(r.err, word) {
			t.Errorf("%s: want %q: %s", what, word, r)
		}
	}
}

// TestCeilingIsNamed: before the command, after it, by either variable, each ceiling
// holds; what contradicts itself is an error.
func TestCeilingIsNamed(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		closed := w.write(w.outside+"/closed.json", `{"network": {"mode": "disabled"}}`)
		open := w.write(w.outside+"/open.json", `{}`)
		run := []string{"run", "--network", "open", "--", "true"}
		if r := w.carrel(run...); r.code != 0 {
			t.Fatalf("canary: %s", r)
		}
		named := []string{"network", "asks for open", "allows closed", closed + ":1:"}
		refusedBy(t, "before the command", w.carrel(append([]string{"--permissions", closed}, run...)...), named...)
		refusedBy(t, "before the command, joined", w.carrel(append([]string{"--permissions=" + closed}, run...)...), named...)
		refusedBy(t, "after the command", w.carrel("run", "--permissions", closed, "--network", "open", "--", "true"), named...)
		for _, name := range []string{"CARREL_PERMISSIONS", "AGENT_WORKSPACE_PERMISSIONS"} {
			w.setenv(name, closed)
			refusedBy(t, name, w.carrel(run...), named...)
			if r := w.carrel(append([]string{"--permissions", open}, run...)...); r.code != 0 {
				t.Errorf("the flag over %s: %s", name, r)
			}
			w.setenv(name, "")
			if r := w.carrel(run...); r.code != 0 {
				t.Errorf("an empty %s: %s", name, r)
			}
		}
		w.setenv("CARREL_PERMISSIONS", closed)
		w.setenv("AGENT_WORKSPACE_PERMISSIONS", open)
		refusedBy(t, "two variables", w.carrel(run...), closed, open, "unset one of them")
		w.unsetenv("CARREL_PERMISSIONS")
		w.unsetenv("AGENT_WORKSPACE_PERMISSIONS")
		refusedBy(t, "before and after", w.carrel("--permissions", open, "run", "--permissions", closed, "--", "true"), "before the command", "one of them")
		refusedBy(t, "twice before", w.carrel("--permissions", open, "--permissions", closed, "ps"), "given twice")
		refusedBy(t, "without a file", w.carrel("--permissions"), "needs a FILE")
		refusedBy(t, "empty", w.carrel("--permissions=", "ps"), "is empty")
		refusedBy(t, "no such file", w.carrel("--permissions", w.outside+"/none", "history"), "no ceiling file")
		refusedBy(t, "a broken file", w.carrel("--permissions", w.write(w.outside+"/bad.json", `{"undo": "some"}`), "history"), "bad.json:1:10", "all, preview, none")
		refusedBy(t, "a policy of its own", w.carrel("--permissions", closed, "sandbox", "--policy", open, "--", "true"), "carrel sandbox")
	})
}

// TestCeilingIsFrozen: a workspace holds what its starter read, whatever becomes of the
// file, the link to it and the variables; nobody gets it with less.
func TestCeilingIsFrozen(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("curl")
		port := hostServer(t)
		const narrow, wide = `{"network": {"mode": "local_only", "allow_hosts": ["http://LocalHost:1"]}}`, `{}`
		real := w.write(w.outside+"/narrow.json", narrow)
		other := w.write(w.outside+"/wide.json", wide)
		link := w.outside + "/ceiling.json"
		w.symlink(real, link)
		w.setenv("CARREL_PERMISSIONS", link)
		refusedBy(t, "a host port that is not listed", w.plain(w.bin, "start", "frozen", "--host-port", port), "host", "allows")
		s := w.stays("frozen", "--network", "local")
		was := s.ceiling()
		if len(was.Hash) != 64 || was.Source != link {
			t.Errorf("it tells %+v", was)
		}
		w.must(os.Remove(link))
		w.symlink(other, link)
		if r := s.do("start", "--network", "local"); r.code != 125 || !strings.Contains(r.err, "is another one") || !strings.Contains(r.err, was.Hash) {
			t.Errorf("adopted after the link was exchanged: %s", r)
		}
		w.must(os.Remove(link))
		w.symlink(real, link)
		w.write(real, wide)
		if r := s.do("start", "--network", "local"); r.code != 125 || !strings.Contains(r.err, was.Hash) {
			t.Errorf("adopted after the file was edited: %s", r)
		}
		w.write(real, "{\"network\":\n {\"allow_hosts\": [\"127.0.0.1:1\"], \"mode\": \"local\"}}") // the same in other words
		if out := s.fine("start", "--network", "local"); !strings.Contains(out, "running already") {
			t.Errorf("the same ceiling, written differently: %s", out)
		}
		w.must(os.Remove(link))
		w.unsetenv("CARREL_PERMISSIONS")
		if r := s.do("start", "--network", "local"); r.code != 125 || !strings.Contains(r.err, was.Hash) {
			t.Errorf("adopted without a ceiling: %s", r)
		}
		if now := s.ceiling(); now != was {
			t.Errorf("it was under %+v, and is under %+v", was, now)
		}
		if r := s.do("exec", "--", "echo", "yes"); r.out != "yes\n" {
			t.Errorf("its user, held to no ceiling: %s", r)
		}
		if r := w.plain("curl", "-sS", "--max-time", "3", "http://127.0.0.1:"+port); r.code != 0 {
			t.Errorf("canary: %s", r)
		}
		if r := s.do("exec", "--", "curl", "-sS", "--max-time", "3", "http://127.0.0.1:"+port); r.code == 0 {
			t.Errorf("a port of the host that is not listed is reached: %s", r)
		}
		var d struct{ Ceiling toldCeiling }
		if err := json.Unmarshal([]byte(s.fine("manifest")), &d); err != nil || d.Ceiling != was {
			t.Errorf("the manifest tells %+v, %v", d.Ceiling, err)
		}
	})
}

// TestCeilingRaced: while a file changes under the starts, each workspace that comes up
// holds one of its contents, and tells that one's hash.
func TestCeilingRaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	narrow, wide := w.write(w.outside+"/narrow.json", `{"network": {"mode": "disabled"}}`), w.write(w.outside+"/wide.json", `{}`)
	hash := func(file string) string {
		var v struct{ Hash string }
		if err := json.Unmarshal([]byte(w.plain(w.bin, "permissions", "validate", "--json", file).out), &v); err != nil || v.Hash == "" {
			t.Fatal(err, v)
		}
		return v.Hash
	}
	open, live := hash(wide), w.outside+"/live.json"
	w.symlink(wide, live)
	stop, done := make(chan struct{}), make(chan struct{})
	defer func() { close(stop); <-done }()
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Symlink([]string{narrow, wide}[i%2], live+".new")
			_ = os.Rename(live+".new", live)
			time.Sleep(time.Millisecond)
		}
	}()
	refused, started := 0, 0
	for i := 0; i < 40 && (refused < 3 || started < 3); i++ {
		name := fmt.Sprint("raced", i)
		r := w.plain(w.bin, "--permissions", live, "start", name, "--network", "open", "--json")
		if r.code != 0 {
			refusedBy(t, name, r, "allows closed")
			refused++
			continue
		}
		started++
		var told struct{ Status struct{ Ceiling toldCeiling } }
		if err := json.Unmarshal([]byte(r.out), &told); err != nil || told.Status.Ceiling.Hash != open {
			t.Errorf("network open under the ceiling %+v (%v)", told.Status.Ceiling, err)
		}
		w.plain(w.bin, "stop", name)
	}
	if refused == 0 || started == 0 {
		t.Errorf("%d refused, %d started: the file did not change", refused, started)
	}
}

// TestCeilingOfTheCaller: who is held to another ceiling than the workspace may ask for
// its status and stop it, and nothing else.
func TestCeilingOfTheCaller(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		own := w.write(w.outside+"/own.json", `{"nested": "none"}`)
		other := w.write(w.outside+"/other.json", `{"nested": "none", "home": "none"}`)
		s := w.stays("theirs", "--permissions", own)
		app := s.launch("counter", counting("n"))
		s.fine("terminal start", "--name", "t", "--", "cat")
		under := func(file string, args ...string) result {
			return w.plain(w.bin, append([]string{"--permissions", file}, args...)...)
		}
		hash := s.ceiling().Hash
		for _, args := range [][]string{
			{"exec", "theirs", "--", "touch", "made"}, {"launch", "theirs", "--", "touch", "made"}, {"shell", "theirs", "--", "-c", "touch made"},
			{"terminal", "start", "theirs", "--", "touch", "made"}, {"terminal", "read", "theirs", "t"}, {"terminal", "send", "theirs", "t", "--text", "x"},
			{"kill", "theirs", app}, {"logs", "theirs", app}, {"events", "theirs"}, {"control", "theirs", "paused"}, {"pause", "theirs"},
			{"screenshot", "theirs", "--output", w.outside + "/x.png"}, {"revoke", "theirs"}, {"undo"}, {"wait", "theirs", app},
		} {
			refusedBy(t, strings.Join(args, " "), under(other, args...), hash, "ceiling")
		}
		if exists(w.project+"/made") || !s.app(app).Running {
			t.Error("something was done")
		}
		for _, args := range [][]string{{"exec", "theirs", "--", "true"}, {"events", "theirs"}, {"logs", "theirs", app}} {
			if r := under(own, args...); r.code != 0 {
				t.Errorf("canary, under its own ceiling: %q: %s", args, r)
			}
		}
		if n := kinds(s.events())["ceiling_refused"]; n < 10 {
			t.Errorf("%d refusals among the events", n)
		}
		if r := under(other, "status", "theirs"); r.code != 0 || !strings.Contains(r.out, "own.json") {
			t.Errorf("its status: %s", r)
		}
		if r := under(other, "stop", "theirs"); r.code != 0 {
			t.Errorf("stop: %s", r)
		}
		for _, args := range [][]string{{"events", "theirs"}, {"apps", "theirs"}, {"manifest", "theirs"}, {"artifacts", "theirs"}, {"revoke", "theirs"}, {"audit", "show", "theirs"}, {"audit", "verify", "theirs"}, {"audit", "export", "theirs"}} {
			refusedBy(t, strings.Join(args, " ")+" after its end", under(other, args...), hash)
		}
		if r := under(own, "audit", "verify", "theirs"); r.code != 0 {
			t.Errorf("canary, the log under its own ceiling: %s", r)
		}
		if r := under(other, "cleanup", "theirs"); r.code != 125 || !strings.Contains(r.err, "theirs was left: ") || !exists(s.place()+"/manifest.json") {
			t.Errorf("cleanup: %s", r)
		}
	})
}

// TestCeilingReadOnlyProject: under a ceiling that lets nothing be changed programs run
// all the same, with the history as it is set by itself.
func TestCeilingReadOnlyProject(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		looks := w.write(w.outside+"/looks.json", fmt.Sprintf(`{"mounts": [{"host_path": %q, "mode": "read_only"}]}`, w.project))
		tries := []string{"sh", "-c", "echo said; : >/dev/null; touch made; exit 3"}
		if r := w.carrel(append([]string{"--permissions", looks, "run", "--"}, tries...)...); r.code != 3 || r.out != "said\n" || exists(w.project+"/made") {
			t.Errorf("run: %s", r)
		}
		s := w.stays("looks", "--permissions", looks)
		if r := s.do("exec", append([]string{"--"}, tries...)...); r.code != 3 || r.out != "said\n" || exists(w.project+"/made") {
			t.Errorf("exec: %s", r)
		}
	})
}

// TestCeilingInTheProtocol: the supervisor itself holds a raw request to the ceiling.
func TestCeilingInTheProtocol(t *testing.T) {
	t.Parallel()
	w := newWorld(t, self())
	own := w.write(w.outside+"/own.json", `{"apps": {"allow": ["/usr/bin/touch", "bash", "readlink"]}, "display": "none"}`)
	s := w.stays("raw", "--permissions", own, "--nested", "none")
	socket, hash := s.socket(), s.ceiling().Hash
	for _, tt := range []struct{ op, more, hash, want string }{
		{"launch", `,"command":{"argv":["touch","made"]}`, strings.Repeat("0", 64), `"rule":"ceiling"`},
		{"launch", `,"command":{"argv":["touch","made"]}`, strings.Repeat("0", 5000), `"rule":"ceiling"`},
		{"launch", `,"command":{"argv":["env","touch","made"]}`, hash, `"rule":"programs"`},
		{"terminal", `,"command":{"argv":["/usr/bin/env","bash"]}`, hash, `"rule":"programs"`},
		{"desktop-see", `,"desktop":{"size":true}`, hash, `"rule":"display"`},
		{"desktop-do", `,"desktop":{"steps":[{"do":"type","text":"x"}]}`, hash, `"rule":"display"`},
		{"watch", "", "", `"rule":"display"`},
	} {
		line := `{"op":"` + tt.op + `"` + tt.more
		if tt.hash != "" {
			line += `,"ceiling":"` + tt.hash + `"`
		}
		got := askWith(t, socket, line+"}")
		if !strings.Contains(got, tt.want) || !strings.Contains(got, `"code":"ceiling"`) {
			t.Errorf("%s under %.8s: %s", tt.op, tt.hash, cut(got))
		}
	}
	if exists(w.project + "/made") {
		t.Error("something was done")
	}
	if got := askWith(t, socket, `{"op":"status","ceiling":"x"}`); !strings.Contains(got, hash) {
		t.Errorf("status: %s", got)
	}
}

// hostServer answers on the host's loopback for the length of the test.
func hostServer(t *testing.T) (port string) {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return portOf(server.Listener)
}

// sealedCeilings is a file in memory as a front end hands one on.
func sealedCeilings(t *testing.T, seals int, contents ...string) *os.File {
	t.Helper()
	type one struct {
		Source  string `json:"source"`
		Content string `json:"content"`
	}
	list := []one{}
	for i, c := range contents {
		list = append(list, one{fmt.Sprint("front end ", i), base64.StdEncoding.EncodeToString([]byte(c))})
	}
	text, err := json.Marshal(map[string]any{"version": 1, "ceilings": list})
	if err != nil {
		t.Fatal(err)
	}
	return sealedText(t, seals, string(text))
}

// TestCeilingIsHandedOn: a front end hands on what it read; it holds beside what the
// flags and variables say, and cannot be had from anything that could still change.
func TestCeilingIsHandedOn(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		const all = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
		with := func(f *os.File, word string, args ...string) result {
			cmd := w.command(w.bin, args...)
			cmd.ExtraFiles, cmd.Env = []*os.File{f}, append(cmd.Env, "CARREL_CEILING_FD="+word)
			return w.finish(cmd)
		}
		none := sealedCeilings(t, all)
		if r := with(none, "3", "run", "--network", "open", "--", "sh", "-c", "ls /proc/self/fd; env"); r.code != 0 || strings.Contains(r.out, "CEILING") || strings.Contains(r.out, "\n4\n") {
			t.Errorf("canary: %s", r)
		}
		handed := sealedCeilings(t, all, `{"network": "closed"}`, `{"nested": "none"}`)
		for range 2 { // from its beginning each time
			refusedBy(t, "run", with(handed, "3", "run", "--network", "open", "--", "true"), "front end 0:1:", "allows closed")
		}
		w.t.Cleanup(func() { w.plain(w.bin, "stop", "handed") })
		wide := w.write(w.outside+"/wide.json", `{}`)
		narrow := w.write(w.outside+"/narrow.json", `{"home": "none"}`)
		refusedBy(t, "start", with(handed, "3", "start", "handed", "--network", "open"), "allows closed")
		refusedBy(t, "a wider file beside it", with(handed, "3", "--permissions", wide, "start", "handed", "--network", "open"), "allows closed")
		refusedBy(t, "a narrower file beside it", with(handed, "3", "--permissions", narrow, "start", "handed", "--home", "full"), "allows none", narrow)
		if r := with(handed, "3", "--permissions", narrow, "start", "handed"); r.code != 0 {
			t.Fatalf("within all: %s", r)
		}
		if r := with(handed, "3", "--permissions", narrow, "exec", "handed", "--", "true"); r.code != 0 {
			t.Errorf("exec under the same: %s", r)
		}
		refusedBy(t, "exec under fewer", with(handed, "3", "exec", "handed", "--", "true"), "ceiling")
		unsealed := sealedCeilings(t, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW, `{}`)
		plain, err := os.Open(wide)
		w.must(err)
		defer plain.Close()
		for what, r := range map[string]result{
			"not sealed against writing": with(unsealed, "3", "ps"), "a file": with(plain, "3", "run", "--", "true"),
			"no descriptor": with(handed, "77", "run", "--", "true"), "standard output": with(handed, "1", "run", "--", "true"), "a word": with(handed, "+3", "run", "--", "true"),
			"a broken one": with(sealedCeilings(t, all, `{"undo": 5}`), "3", "run", "--", "true"), "not ours": with(sealedText(t, all, `{"version": 2, "ceilings": []}`), "3", "run", "--", "true"),
			"with more": with(sealedText(t, all, `{"version": 1, "ceilings": [], "more": 1}`), "3", "run", "--", "true"),
		} {
			if what != "not sealed against writing" { // ps has nobody to ask where nothing runs
				refusedBy(t, what, r)
			}
		}
		refusedBy(t, "not sealed against writing", with(unsealed, "3", "run", "--", "true"), "no sealed file")
		faked := w.command("bash", "-c", `exec -a carrel-workspace "$0" start faked --network open 3> >(cat)`, w.bin)
		if r := w.finish(faked); r.code != 125 {
			t.Errorf("a supervisor without its ceilings: %s", r)
		}
	})
}

func sealedText(t *testing.T, seals int, text string) *os.File {
	t.Helper()
	fd, err := unix.MemfdCreate("c", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "c")
	t.Cleanup(func() { f.Close() })
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		t.Fatal(err)
	}
	return f
}
