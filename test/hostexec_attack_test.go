//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// guestTools are what hostile programs inside speak the protocol with.
var guestTools = program("hostexec_attack/guest_tools.py")

// TestHostileStreams: streams that nobody reads, or that somebody inside keeps open, hold
// up neither the end of a workspace nor anybody's answer.
func TestHostileStreams(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[1])
	w.need("python3")
	w.hostCommands("- hx\n")
	full := guestTools + program("hostexec_attack/full.py")
	w.write(w.project+"/full.py", full+"time.sleep(0.3)\n")
	begun := time.Now()
	if r := w.run("--", "python3", "full.py"); r.code != 0 || time.Since(begun) > 20*time.Second {
		t.Errorf("after %s: %s", time.Since(begun), r)
	}
	w.write(w.project+"/keep.py", guestTools+program("hostexec_attack/keep.py"))
	if got := w.sh("python3 keep.py"); got != "told 1\n" {
		t.Errorf("kept open: %q", got)
	}
	s := w.stays("a")
	w.outsideSh("rm -f keep.sock")
	s.launch("full", "python3 -c '"+strings.ReplaceAll(full, "'", `'"'"'`)+"time.sleep(1000)'")
	s.launch("keep", "exec python3 keep.py stay")
	eventually(t, "both to hold something", func() bool { return exists(w.project + "/keep.sock") })
	time.Sleep(500 * time.Millisecond)
	begun = time.Now()
	s.fine("stop")
	if took := time.Since(begun); took > 25*time.Second {
		t.Errorf("stopped after %s", took)
	}
}

// TestHostileProgram: what is in PATH below the project is no host command, from the start
// or later.
func TestHostileProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[0])
	w.write(w.home+"/.tok", "SECRET\n")
	w.setenv("TOK", "T0K3N")
	w.hostCommands("- name: tac\n  args: ['-b *']\n  credentials: {env: [TOK], files: [~/.tok]}\n- mine\ntoolchain: auto\n")
	path := "PATH=" + w.project + "/bin:" + w.home + "/link:"
	for i, e := range w.env {
		if rest, ok := strings.CutPrefix(e, "PATH="); ok {
			w.env[i] = path + rest
		}
	}
	w.mkdir(w.project+"/bin", 0o755)
	w.symlink(w.project+"/bin", w.home+"/link")
	w.write(w.project+"/f", "right\n")
	evil := "printf '#!/bin/sh\\necho HIJACKED $TOK; cat ~/.tok\\n' > bin/tac; cp bin/tac bin/mine; cp bin/tac bin/devbox; echo {} > devbox.json; chmod +x bin/*; "
	for _, script := range []string{"tac -b f; " + evil + "tac -b f; mine; true", evil + "tac -b f; mine; true"} {
		r := w.run("--", "bash", "-c", script)
		if strings.Contains(r.out, "HIJACKED") || !strings.Contains(r.out, "right") || !strings.Contains(r.err, "mine is a host command, and is not installed") {
			t.Errorf("%s: %s", script, r)
		}
		w.outsideSh("rm -rf bin/* devbox.json")
	}
	if r := w.run("--permissions", w.write(w.home+"/c.json", `{"credentials":"off"}`), "--", "true"); r.code != 125 || !strings.Contains(r.err, "those of the host command tac") {
		t.Errorf("under a ceiling: %s", r)
	}
}

// TestHostileEnd: a call ends with all that it has started, whatever label that has.
func TestHostileEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[0])
	w.need("python3")
	w.hostCommands("- hx\n- {name: python3, timeout: 500ms}\n")
	w.script(w.project+"/escape.py", program("hostexec_attack/escape.py"))
	s := w.stays("a")
	if got := s.sh("python3 escape.py; echo $?"); got != "124\n" {
		t.Errorf("past its time: %q", got)
	}
	eventually(t, "all to end", func() bool { return !w.anybody("7002") })
	s.sh("timeout -s KILL 1 hx -c '/usr/bin/python3 escape.py' || true")
	eventually(t, "all to end", func() bool { return !w.anybody("7002") })
	// The first process of their walls is killed as when there is no memory: there are new ones.
	s.launch("idle", "sleep 1000") // so that the workspace's own has a child
	for range 5 {                  // and the workspace's own have nothing of it
		if got := s.sh("hx -c 'echo one'"); got != "one\n" {
			t.Fatal(got)
		}
		for pid, words := range w.processes() {
			if strings.Contains(words, "carrel-stage") && w.childless(pid) {
				if p, err := os.FindProcess(pid); err == nil {
					_ = p.Kill()
				}
			}
		}
		if got := s.sh("sleep 0.1; hx -c 'echo two'"); got != "two\n" {
			t.Errorf("after they were gone: %q", got)
		}
	}
	s.person("pause")
	s.person("resume")
}

// childless says whether a process has no children: the stage of walls in which nothing
// runs.
func (w *world) childless(pid int) bool {
	list, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, f := range list {
		if text, err := os.ReadFile(f); err != nil || len(text) > 0 {
			return false
		}
	}
	return len(list) > 0
}

// TestHostileQuestion: a person who is asked sees all that will run.
func TestHostileQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[0])
	w.hostCommands("- {name: hx, ask: true, env: [MODE]}\n")
	s := w.stays("a")
	s.launch("x", "MODE=prod hx -c 'make test"+strings.Repeat(" ", 300)+"; touch EVIL' "+strings.Repeat("a ", 50)+"'last word'")
	var subject string
	eventually(t, "a question", func() bool {
		var waiting []struct{ ID, Subject string }
		w.must(json.Unmarshal([]byte(w.plain(w.bin, "approvals", "--json").out), &waiting))
		for _, one := range waiting {
			subject = one.Subject
		}
		return subject != ""
	})
	for _, want := range []string{"; touch EVIL\"", `"last word"`, "in " + w.project, "with MODE=prod"} {
		if !strings.Contains(subject, want) {
			t.Errorf("without %q: %s", want, subject)
		}
	}
	s.fine("kill", "x")
	if r := s.do("exec", "--", "bash", "-c", "hx -c '"+strings.Repeat("x", 5000)+"; touch EVIL'"); r.code != 126 || exists(w.project+"/EVIL") {
		t.Errorf("too long to be read: %s", r)
	}
}

// TestHostRulesLater: what is denied while a workspace runs, walls of host commands that
// come later do not reach either.
func TestHostRulesLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[0])
	w.need("curl")
	w.hostCommands("- hx\n- {name: tac, hosts: [example.com]}\n")
	s := w.stays("a", "--network", "filtered", "--allow-host", "example.com")
	w.fine("net", "deny", "example.com", "a")
	for range 2 {
		if r := s.do("exec", "--", "bash", "-c", "hx -c 'curl -sS --max-time 20 http://example.com/'"); !strings.Contains(r.out+r.err, "denied by the rule") && !strings.Contains(r.out+r.err, "carrel net deny") {
			t.Errorf("%s", r)
		}
	}
}

// TestHostCommandOutputLost: what cannot be written is told, and ends who writes.
func TestHostCommandOutputLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[0])
	w.hostCommands("- hx\n")
	r := w.run("--", "bash", "-c", "hx -c 'echo hi' >/dev/full; echo $?; timeout 20 hx -c yes >/dev/full; echo $?; hx -c 'kill -SEGV $$'; echo $?; hx -c 'kill -USR1 $$'; echo $?")
	if r.out != "125\n141\n139\n138\n" || strings.Contains(r.err, "goroutine") || !strings.Contains(r.err, "its output could not be written") {
		t.Errorf("%s", r)
	}
	w.symlink("/etc", w.project+"/lnk")
	if r := w.run("--", "bash", "-c", "cd lnk && hx -c 'pwd -P'"); r.code != 126 || r.out != "" {
		t.Errorf("a directory elsewhere: %s", r)
	}
	if got := w.sh("BASH_ENV=/tmp/e LD_PRELOAD=/x hx -c 'echo $BASH_ENV$LD_PRELOAD'"); got != "\n" {
		t.Errorf("%q", got)
	}
}
