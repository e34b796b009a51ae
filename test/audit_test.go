//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
)

// toldAudit is a record of the audit log, checked what a look at it has found.
type toldAudit struct {
	Seq                                        uint64
	Kind, Operation, Subject, Decision, Detail string
	Who                                        struct {
		Kind, Program string
		PID           int
	}
	App  string
	Step uint64
}

type checked struct {
	OK          bool
	Records     uint64
	First, Last uint64
	Head        string
	Broken      *struct{ Record uint64 }
	Notes       []string
}

// audit is what verify says; the word is the workspace's name or a file.
func (w *world) audit(word string, flags ...string) (c checked) {
	w.t.Helper()
	r := w.plain(w.bin, append([]string{"audit", "verify", word, "--json"}, flags...)...)
	if err := json.Unmarshal([]byte(r.out), &c); err != nil || (r.code == 0) != c.OK || r.code > 1 {
		w.t.Fatalf("audit verify %s: %s, %v", word, r, err)
	}
	return c
}

// records are all of the log.
func (s *stay) records(flags ...string) (all []toldAudit) {
	s.w.t.Helper()
	for line := range strings.Lines(s.fine("audit show", append([]string{"--json"}, flags...)...)) {
		var one toldAudit
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			s.w.t.Fatalf("%v in %q", err, line)
		}
		all = append(all, one)
	}
	return all
}

// wants says that a record is there.
func (s *stay) wants(kind, who, operation, subject, decision string) {
	s.w.t.Helper()
	is := func(r toldAudit) bool {
		return r.Kind == kind && r.Who.Kind == who && r.Operation == operation && strings.Contains(r.Subject, subject) && r.Decision == decision
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) { // it is written beside
		all := s.records()
		if slices.ContainsFunc(all, is) {
			return
		}
		if time.Now().After(end) {
			s.w.t.Errorf("no record %s %s %s %q %s among %+v", kind, who, operation, subject, decision, all)
			return
		}
	}
}

// ask files a change of the control, and gives the approval's id.
func (s *stay) ask(mode string) string {
	s.w.t.Helper()
	id, _, _ := strings.Cut(s.fine("control", mode, "--ask", "--reason", "the tests pass"), " ")
	return id
}

// TestAudit: what was asked and decided is written down, whoever did it; a change of the
// log is found and named.
func TestAudit(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("curl")
		s := w.stays("audit", "--network", "filtered")
		secret := "hunter2-" + w.base[strings.LastIndexByte(w.base, '/')+1:]
		s.fine("exec", "--env", "TOKEN="+secret, "--", "sh", "-c", "echo made > made")
		s.do("exec", "--", "curl", "-sS", "--max-time", "20", "http://refused.example/")
		screen, _, _ := strings.Cut(s.fine("terminal start", "--", "cat"), " ")
		s.fine("terminal send", screen, "--text", secret, "Enter")
		s.fine("control", "paused", "--reason", "I look")
		s.do("exec", "--", "true")
		id := s.ask("active")
		if r := w.plain(w.bin, "approve", id); r.code != 125 || s.mode() != "paused" {
			t.Errorf("a program approves what it has asked for: %s", r)
		}
		tm := w.openTerminal(w.command(w.bin, "approve", id))
		tm.expect("leave it: ")
		tm.send(id + "\n")
		if code := tm.wait(); code != 0 || s.mode() != "active" {
			t.Errorf("a person approves: %d, %s", code, tm.all())
		}
		if out := w.plain(w.bin, "approvals", id).out; !strings.Contains(out, id+"  approved") {
			t.Errorf("afterwards: %s", out)
		}
		s.fine("control", "read_only")
		if r := w.plain(w.bin, "deny", s.ask("active")); r.code != 0 || s.mode() != "read_only" {
			t.Errorf("deny: %s", r)
		}
		s.person("control", "active")
		if r := w.plain(w.bin, "undo"); r.code != 0 || exists(w.project+"/made") {
			t.Errorf("undo: %s", r)
		}
		for _, want := range [][5]string{
			{"workspace", "supervisor", "start", "audit", "allowed"}, {"request", "caller", "exec", "echo made > made", "allowed"}, {"app", "supervisor", "end", "echo made > made", ""},
			{"step", "inside", "begin", "echo made > made", ""}, {"step", "inside", "close", "echo made > made", ""}, {"network", "inside", "http", "refused.example:80", "refused"},
			{"request", "caller", "terminal-send", screen, "allowed"}, {"control", "caller", "control", "active to paused", "allowed"}, {"request", "caller", "exec", "true", "refused"},
			{"approval", "caller", "control", "active", "asked"}, {"request", "caller", "approve", id, "refused"}, {"approval", "person", "control", "active", "approved"},
			{"control", "person", "control", "paused to active", "allowed"}, {"approval", "caller", "control", "active", "denied"}, {"request", "caller", "yield", "", "allowed"},
		} {
			s.wants(want[0], want[1], want[2], want[3], want[4])
		}
		if log := w.read(s.place() + "/audit.jsonl"); strings.Contains(log, secret) {
			t.Error("what was typed, or a variable, is in the log")
		}
		running := w.audit(s.name)
		if !running.OK || running.First != 1 || len(running.Notes) != 0 {
			t.Errorf("while it runs: %+v", running)
		}
		s.killed(running.Head)
		s.forged()
	})
}

// killed ends the supervisor in the middle, starts it anew, and wants the log to say so.
func (s *stay) killed(head string) {
	s.w.t.Helper()
	s.kill()
	s.fine("start", "--network", "filtered")
	s.sh("true")
	s.fine("stop")
	c := s.w.audit(s.name, "--head", head)
	if !c.OK || !strings.Contains(strings.Join(c.Notes, "\n"), "its supervisor was killed") {
		s.w.t.Errorf("after kill -9: %+v", c)
	}
	if all := s.records("--kind", "closed"); len(all) != 1 || all[0].Seq != c.Last {
		s.w.t.Errorf("not closed in order: %+v", all)
	}
}

// forged changes the log of the stopped workspace in several ways.
func (s *stay) forged() {
	w := s.w
	w.t.Helper()
	file := s.place() + "/audit.jsonl"
	good := []byte(w.read(file))
	copied := w.base + "/home/copy.jsonl"
	w.litter = true
	if r := w.plain(w.bin, "audit", "export", s.name, "-o", copied); r.code != 0 || !strings.Contains(r.err, "head") {
		w.t.Errorf("export: %s", r)
	}
	if c := w.audit(copied); !c.OK || !bytes.Equal([]byte(w.read(copied)), good) {
		w.t.Errorf("the copy: %+v", c)
	}
	was := w.audit(s.name)
	lines := bytes.SplitAfter(good, []byte{'\n'})
	join := func(l ...[][]byte) []byte { return bytes.Join(slices.Concat(l...), nil) }
	flipped := bytes.Clone(good)
	flipped[len(lines[0])+len(lines[1])+30] ^= 1
	for name, c := range map[string]struct {
		log    []byte
		record uint64
		head   string
	}{
		"a byte":    {flipped, 3, ""},
		"a line":    {join(lines[:4], lines[5:]), 5, ""},
		"two lines": {join(lines[:4], [][]byte{lines[5], lines[4]}, lines[6:]), 5, ""},
		"the end":   {join(lines[:len(lines)-3]), was.Last - 1, was.Head},
	} {
		w.must(os.WriteFile(file, c.log, 0o600))
		var flags []string
		if c.head != "" {
			flags = []string{"--head", c.head}
		}
		if got := w.audit(s.name, flags...); got.OK || got.Broken == nil || got.Broken.Record != c.record {
			w.t.Errorf("%s: %+v, broken: %+v, want %d", name, got, got.Broken, c.record)
		}
	}
	w.must(os.WriteFile(file, good, 0o600))
	if got := w.audit(s.name, "--head", strings.ToUpper(was.Head)); !got.OK {
		w.t.Errorf("the head in capitals: %+v", got.Broken)
	}
	if r := w.plain(w.bin, "audit", "verify", s.name, "--head", ""); r.code != 125 || !strings.Contains(r.err, "--head is empty") {
		w.t.Errorf("an empty head: %s", r)
	}
	if r := w.plain(w.bin, "audit", "verify", "nosuch"); r.code != 125 {
		w.t.Errorf("no such workspace: %s", r)
	}
}

// TestAuditRequired: where it is required, nothing is done that could not be written
// down; where it is not, work goes on. The log says what it lost.
func TestAuditRequired(t *testing.T) {
	t.Parallel()
	for _, required := range []string{"true", "false"} {
		w := newWorld(t, ordinary(t))
		w.mount("tmpfs", w.outside+"/state", "size=4m,mode=0777")
		w.setenv("XDG_STATE_HOME", w.outside+"/state")
		w.write(w.home+"/.config/carrel/config.yaml", "audit:\n  required: "+required+"\n")
		s := w.stays("required")
		w.fill(w.outside + "/state/fill")
		refused := false
		for range 100 { // there is room in the last page
			r := s.do("exec", "--", "true")
			if refused = strings.Contains(r.err, "cannot be written down"); r.code != 0 {
				if !refused || r.code != 125 || !strings.Contains(r.err, "hint: make room") {
					t.Errorf("required %s: %s", required, r)
				}
				break
			}
			if strings.Contains(s.fine("events"), "audit log is not complete") && required == "false" {
				break
			}
		}
		if refused != (required == "true") {
			t.Errorf("required %s: refused %t", required, refused)
		}
		if !strings.Contains(s.fine("events"), "audit log is not complete") {
			t.Errorf("required %s: it is not told", required)
		}
		w.must(os.Remove(w.outside + "/state/fill"))
		s.do("exec", "--", "true") // is refused, and written down
		eventually(t, "work to go on", func() bool { return s.do("exec", "--", "true").code == 0 })
		s.fine("stop")
		if c := w.audit(s.name); !c.OK || !strings.Contains(strings.Join(c.Notes, "\n"), "could not be written: no space left") {
			t.Errorf("required %s: %+v, broken: %+v", required, c, c.Broken)
		}
		s.fine("revoke")
		w.unmount(w.outside + "/state")
	}
}

// TestApprovalNotified: the person's desktop is told of what waits, unless they do not
// want that; nothing inside reaches its bus.
func TestApprovalNotified(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[0]) // a bus wants its user to have an entry in /etc/passwd
	w.need("dbus-daemon", "dbus-monitor")
	config := w.write(w.base+"/home/session.conf", `<busconfig><type>session</type><listen>unix:path=`+w.runtime+`/bus</listen>`+
		`<policy context="default"><allow user="*"/><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`)
	daemon := w.command("dbus-daemon", "--nofork", "--nopidfile", "--config-file="+config)
	w.must(daemon.Start())
	defer func() { _ = daemon.Process.Kill(); _ = daemon.Wait() }()
	eventually(t, "the bus", func() bool { return exists(w.runtime + "/bus") })
	seen, err := os.Create(w.base + "/seen")
	w.must(err)
	defer seen.Close()
	monitor := w.command("dbus-monitor", "--address", "unix:path="+w.runtime+"/bus", "interface='org.freedesktop.Notifications'")
	monitor.Stdout, monitor.Stderr = seen, seen
	w.must(monitor.Start())
	defer func() { _ = monitor.Process.Kill(); _ = monitor.Wait() }()
	defer func() {
		if t.Failed() {
			t.Logf("%s", w.read(w.base+"/seen"))
		}
	}()
	eventually(t, "the monitor", func() bool { return strings.Contains(w.read(w.base+"/seen"), "NameLost") })

	s := w.stays("told")
	s.fine("control", "read_only")
	id := s.ask("active")
	eventually(t, "a notification", func() bool { return strings.Contains(w.read(w.base+"/seen"), "carrel approve "+id) })
	if got := w.read(w.base + "/seen"); strings.Count(got, "member=Notify") != 1 || !strings.Contains(got, "told waits for you") {
		t.Errorf("%s", got)
	}
	s.person("control", "active")
	if got := s.sh("test -S " + w.runtime + "/bus && echo there; echo $DBUS_SESSION_BUS_ADDRESS"); strings.Contains(got, "there") || strings.Contains(got, w.runtime) {
		t.Errorf("inside: %s", got)
	}
	s.fine("stop")
	w.write(w.home+"/.config/carrel/config.yaml", "approvals:\n  notify: false\n")
	quiet := w.stays("quiet")
	quiet.fine("control", "read_only")
	quiet.ask("active")
	waitABit()
	if got := w.read(w.base + "/seen"); strings.Contains(got, "quiet") {
		t.Errorf("it is told of all the same: %s", got)
	}
}

// TestAuditOfRuns: where an audit log is required, each run has one: run, shell and agents
// by name. It says who ran what in which project, under which policy and by which
// program, and what was refused. What cannot be written down does not start.
func TestAuditOfRuns(t *testing.T) {
	w := newWorld(t, ordinary(t))
	w.write(w.home+"/.config/carrel/config.yaml", "audit:\n  required: true\n")
	w.mkdir(w.home+"/bin", 0o755)
	w.script(w.home+"/bin/claude", "#!/bin/sh\nexit 3\n")
	w.setenv("PATH", w.home+"/bin:/usr/local/bin:/usr/bin:/bin")
	logs := w.home + "/.local/state/carrel/audit"
	seen := map[string]bool{}
	latest := func() []api.AuditRecord {
		t.Helper()
		for id := range strings.FieldsSeq(w.outsideSh("ls " + logs)) {
			if seen[id] {
				continue
			}
			seen[id] = true
			if r := w.carrel("audit", "verify", id); r.code != 0 {
				t.Errorf("verify: %s", r)
			}
			r := w.carrel("audit", "show", id, "--json")
			var out []api.AuditRecord
			for line := range strings.Lines(r.out) {
				var one api.AuditRecord
				if err := json.Unmarshal([]byte(line), &one); err != nil {
					t.Fatalf("%v: %s", err, r)
				}
				out = append(out, one)
			}
			return out
		}
		t.Fatal("no log of the run")
		return nil
	}
	for _, run := range []struct {
		args []string
		end  string
	}{
		{[]string{"run", "--deny", "*.no", "--", "sh", "-c", "echo a >a; cat x.no; exit 5"}, "status 5"},
		{[]string{"shell", "--", "-c", "exit 4"}, "status 4"},
		{[]string{"claude"}, "status 3"},
	} {
		w.write(w.project+"/x.no", "")
		w.carrel(run.args...)
		records, found := latest(), map[string]bool{}
		for _, r := range records {
			switch {
			case r.Kind == api.AuditWorkspace && r.Operation == "run":
				s := r.Session
				found["run"] = s != nil && s.UID == w.who.uid && string(s.Project) == w.project && len(s.Policy) == 32 && s.Version != ""
			case r.Kind == api.AuditWorkspace && r.Operation == "end":
				found["end"] = r.Detail == run.end
			default:
				found[r.Kind+" "+r.Operation] = true
			}
		}
		if !found["run"] || !found["end"] {
			t.Errorf("%q: %+v", run.args, records)
		}
		if run.end == "status 5" && (!found["denial read"] || !found["step close"]) {
			t.Errorf("no refusal, or no step: %+v", records)
		}
	}
	if err := os.RemoveAll(logs); err != nil {
		t.Fatal(err)
	}
	w.write(logs, "in the way")
	if r := w.run("--", "touch", "b"); r.code != 125 || exists(w.project+"/b") || !strings.Contains(r.err, "cannot be written down") {
		t.Errorf("a run that cannot be written down: %s", r)
	}
}
