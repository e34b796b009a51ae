//go:build linux

package e2e

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestDeskShares: apps of one workspace share localhost and processes, and nobody
// else does.
func TestDeskShares(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("python3", "curl")
		w.write(w.project+"/page", "the page\n")
		port := w.freePort()
		s, other := w.stays("shares", "--network", "local"), w.stays("other", "--network", "local")
		s.launch("server", "exec python3 -m http.server --bind 127.0.0.1 "+port)
		fetch := "curl -s --max-time 3 http://127.0.0.1:" + port + "/page"
		eventually(t, "the server to be reached by another app", func() bool {
			return s.do("exec", "--", "sh", "-c", fetch).out == "the page\n"
		})
		if r := other.do("exec", "--", "sh", "-c", fetch); r.code == 0 || r.out != "" {
			t.Errorf("reached from a second workspace: %s", r)
		}
		if c, err := net.DialTimeout("tcp4", "127.0.0.1:"+port, time.Second); err == nil {
			c.Close()
			t.Error("reached from the host")
		}
		look := "ps -e -o args 2>/dev/null || cat /proc/[0-9]*/cmdline | tr '\\000' ' '"
		if out := s.sh(look); !strings.Contains(out, "http.server") {
			t.Errorf("an app does not see the other: %s", out)
		}
		if out := other.sh(look); strings.Contains(out, "http.server") {
			t.Errorf("a second workspace sees it: %s", out)
		}
		s.sh("echo shared > /tmp/between")
		if got := s.sh("cat /tmp/between"); got != "shared\n" {
			t.Errorf("/tmp: %q", got)
		}
		if r := other.do("exec", "--", "cat", "/tmp/between"); r.code == 0 {
			t.Errorf("/tmp of another workspace: %s", r)
		}
		other.fine("stop")
		if r := s.do("exec", "--", "sh", "-c", fetch); r.out != "the page\n" {
			t.Errorf("after the other has stopped: %s", r)
		}
	})
}

// TestDeskHistory: each command is a step, what goes on has its own, and each is taken
// back alone.
func TestDeskHistory(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.write(w.project+"/a", "as it was\n")
		w.write(w.project+"/b", "as it was\n")
		s := w.stays("history")
		s.launch("server", counting("n"))
		eventually(t, "the server to write", func() bool { return exists(w.project + "/n") })
		s.sh("echo one > a")
		s.sh("echo two > b; (sleep 0.2; echo late > late) & ")
		s.sh("cat a > /dev/null")
		s.fine("exec", "--", "sh", "-c", "rm a; mkdir d; echo three > d/c")
		eventually(t, "what was left behind to write", func() bool { return exists(w.project + "/late") })
		s.fine("kill", "server")
		a := s.app("server")
		s.fine("stop")
		of := make(map[string][]toldStep)
		for _, step := range w.steps() {
			for _, name := range w.pathsOf(step.Step) {
				of[name] = append(of[name], step)
			}
		}
		if len(of["a"]) != 2 || len(of["b"]) != 1 || len(of["n"]) == 0 || len(of["late"]) != 1 || len(of["d/c"]) != 1 {
			t.Fatalf("steps: %+v", of)
		}
		if of["late"][0].Step != of["b"][0].Step || of["d/c"][0].Step != of["a"][1].Step || of["a"][0].Step == of["b"][0].Step {
			t.Errorf("steps: %+v", of)
		}
		for _, one := range of["n"] {
			if !slices.Contains(a.Steps, one.Step) || one.Kind != "job" {
				t.Errorf("the server's steps are %v, and %d is %s", a.Steps, one.Step, one.Kind)
			}
		}
		if out := w.fine("history"); !strings.Contains(out, "echo one > a") || !strings.Contains(out, "rm a; mkdir d") {
			t.Errorf("history: %s", out)
		}
		undo := func(step uint64) result {
			return w.plain(w.bin, "undo", "--step", strconv.FormatUint(step, 10))
		}
		if r := undo(of["b"][0].Step); r.code != 0 || w.read(w.project+"/b") != "as it was\n" || exists(w.project+"/late") || !exists(w.project+"/d/c") || !exists(w.project+"/n") {
			t.Errorf("undo of one command: %s", r)
		}
		if r := undo(of["a"][1].Step); r.code != 0 || w.read(w.project+"/a") != "one\n" || exists(w.project+"/d") {
			t.Errorf("undo of another: %s", r)
		}
		for _, one := range slices.Backward(of["n"]) {
			undo(one.Step)
		}
		if exists(w.project + "/n") {
			t.Error("undo of the server has left its file")
		}
		if got := w.read(w.project + "/a"); got != "one\n" {
			t.Errorf("what is not taken back: %q", got)
		}
	})
}

// TestDeskReuse: who asks for the same gets the one that runs, who asks for something
// else is told what is different.
func TestDeskReuse(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.write(w.project+"/x.pem", "SECRET")
		w.mkdir(w.outside+"/more", 0o700)
		s := w.stays("reuse", "--network", "local", "--deny", "*.pem")
		id := s.status().ID
		if out := s.fine("start", "--network", "local", "--deny", "*.pem"); out != "running already: reuse\n" {
			t.Errorf("the same: %s", out)
		}
		w.setenv("CARREL_NETWORK", "closed") // the flag is stronger
		if out := s.fine("start", "--deny", "*.pem", "--network", "local"); out != "running already: reuse\n" {
			t.Errorf("the same by other means: %s", out)
		}
		w.unsetenv("CARREL_NETWORK")
		socket, err := net.Listen("unix", w.outside+"/x.sock")
		w.must(err)
		defer socket.Close()
		w.own(w.outside + "/x.sock")
		ceiling := w.write(w.outside+"/ceiling.json", `{"network":{"mode":"local_only"}}`)
		for _, tt := range []struct{ flags, word string }{
			{"", "network"},
			{"--network local", "*.pem"},
			{"--network closed --deny *.pem", "network: closed"},
			{"--network open --deny *.pem", "network: open"},
			{"--network local --deny *.pem --write " + w.outside + "/more", w.outside + "/more"},
			{"--network local --deny *.pem --history off", "history"},
			{"--network local --deny *.pem --unix-socket " + w.outside + "/x.sock", "asked:  unix-socket"},
			{"--network local --deny *.pem --env SOME=THING", "environment"},
			{"--network local --deny *.pem --nested none", "nested"},
			{"--network local --deny *.pem --home none", "home"},
			{"--network local --deny *.pem --pids 100", "pids"},
		} {
			r := s.do("start", strings.Fields(tt.flags)...)
			if r.code != 125 || !strings.Contains(r.err, tt.word) || !strings.Contains(r.err, "is another one") || !strings.Contains(r.err, "hint: ") {
				t.Errorf("start %s: want %q: %s", tt.flags, tt.word, r)
			}
		}
		w.project = w.home + "/src/second"
		w.mkdir(w.project, 0o700)
		if r := s.do("start", "--network", "local", "--deny", "*.pem"); r.code != 125 || !strings.Contains(r.err, "src/second") || !strings.Contains(r.err, "src/desk") {
			t.Errorf("another project: %s", r)
		}
		w.project = w.home + "/src/desk"
		r := s.do("start", "--network", "local", "--deny", "*.pem", "--permissions", ceiling)
		if r.code != 125 || !strings.Contains(r.err, "asked:  ceiling: ") || !strings.Contains(r.err, "("+ceiling+")") {
			t.Errorf("under a ceiling: %s", r)
		}
		w.setenv("CARREL_PERMISSIONS", ceiling)
		bounded := w.stays("bounded", "--network", "local")
		bounded.fine("start", "--network", "local")
		w.write(ceiling, `{"network":{"mode":"local_only"},"nested":"userns"}`)
		if r := bounded.do("start", "--network", "local"); r.code != 125 || !strings.Contains(r.err, "asked:  ceiling: ") {
			t.Errorf("under a ceiling that was changed: %s", r)
		}
		w.unsetenv("CARREL_PERMISSIONS")
		if r := bounded.do("start", "--network", "local"); r.code != 125 || !strings.Contains(r.err, "it has  ceiling: ") {
			t.Errorf("without the ceiling: %s", r)
		}
		if d := s.status(); d.ID != id || d.State != "running" {
			t.Errorf("what ran before: %+v", d)
		}
		if r = s.do("exec", "--", "cat", "x.pem"); strings.Contains(r.out, "SECRET") {
			t.Errorf("the policy: %s", r)
		}
		if r := w.plain(w.bin, "start", "long", "--purpose", strings.Repeat("x", 513)); r.code != 125 || !strings.Contains(r.err, "at most 512") {
			t.Errorf("a long purpose: %s", r)
		}
		for _, name := range []string{"", ".", "..", "-x", "a/b", "a b", "a\nb", strings.Repeat("x", 65), "ä"} {
			if r := w.plain(w.bin, "start", "--", name); r.code != 125 {
				t.Errorf("the name %q: %s", name, r)
			}
		}
	})
}
