//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// toldAnswer is what the helper for file tools says.
type toldAnswer struct {
	Answer struct {
		Content, Kind, SHA256 string
		Written, Created      bool
		Replacements          int
		Paths                 []string
		Entries               []struct{ Name, Type string }
		Files                 []struct{ Path string }
	}
	Error struct{ Code, Message, Operation, Hint string }
}

// tool carries out a file tool's request inside.
func (s *stay) tool(op, request string) (a toldAnswer) {
	s.w.t.Helper()
	cmd := s.w.command(s.w.bin, s.words("exec", "--", "/run/carrel/bin/carrel-file", op)...)
	cmd.Stdin = strings.NewReader(request)
	r := s.w.finish(cmd)
	if r.code != 0 || r.err != "" {
		s.w.t.Fatalf("%s %s: %s", op, request, r)
	}
	if err := json.Unmarshal([]byte(r.out), &a); err != nil {
		s.w.t.Fatalf("%s %s: %v in %s", op, request, err, cut(r.out))
	}
	return a
}

// found are the names that a glob or a grep gives.
func (a toldAnswer) found() []string {
	names := slices.Clone(a.Answer.Paths)
	for _, f := range a.Answer.Files {
		names = append(names, f.Path)
	}
	slices.Sort(names)
	return names
}

// TestFileTools: a change by a file tool is one step of the history like any
// command's, and looking is none.
func TestFileTools(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.write(w.project+"/old", "one\ntwo\n")
		s := w.stays("files")
		if a := s.tool("write_file", `{"path":"sub/new","content":"made\n"}`); !a.Answer.Created || w.read(w.project+"/sub/new") != "made\n" {
			t.Fatalf("write: %+v", a)
		}
		if a := s.tool("edit_file", `{"path":"old","edits":[{"old_string":"one","new_string":"1"},{"old_string":"two","new_string":"2"}]}`); a.Answer.Replacements != 2 || w.read(w.project+"/old") != "1\n2\n" {
			t.Fatalf("edit: %+v", a)
		}
		for op, request := range map[string]string{"read_file": `{"path":"old"}`, "list_directory": `{}`, "glob": `{"pattern":"**"}`, "grep": `{"pattern":"1"}`, "write_file": `{"path":"old","content":"1\n2\n"}`, "edit_file": `{"path":"old","old_string":"3","new_string":"4"}`} {
			s.tool(op, request)
		}
		if all := w.steps(); len(all) != 2 || all[0].Added != 2 || all[1].Modified != 1 || !strings.Contains(all[1].Label, "carrel-file edit_file") {
			t.Fatalf("steps: %+v", all)
		}
		for want, name := range map[string]string{"one\ntwo\n": "old"} {
			if r := w.plain(w.bin, "undo"); r.code != 0 || w.read(w.project+"/"+name) != want {
				t.Errorf("undo: %s", r)
			}
		}
		if r := w.plain(w.bin, "undo"); r.code != 0 || exists(w.project+"/sub") {
			t.Errorf("undo: %s", r)
		}
	})
}

// TestFileToolsDenied: what the policy hides is not read, changed or named, whichever
// way it is hidden; what lies beside it is.
func TestFileToolsDenied(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		hidden := []string{".env", "keys/id", "place/a.pem", "late.pem"}
		for _, name := range append(hidden[:3], "env.txt", "keys.txt", "place/a.txt") {
			w.write(w.project+"/"+name, "needle\n")
		}
		w.symlink("place/a.pem", w.project+"/link")
		w.write(w.outside+"/secret", "needle\n")
		w.symlink(w.outside+"/secret", w.project+"/out")
		for i := range 200 { // enough for ripgrep
			w.write(fmt.Sprintf("%s/many/%03d", w.project, i), "text\n")
		}
		s := w.stays("denied", "--deny", "keys", "--deny", "**/*.pem")
		w.write(w.project+"/late.pem", "needle\n")
		for _, name := range append(hidden, "link", "out") {
			if code := s.tool("read_file", `{"path":"`+name+`"}`).Error.Code; code != "denied" && !(name == "out" && code == "not-found") {
				t.Errorf("reading %s: %q", name, code)
			}
			a := s.tool("edit_file", `{"path":"`+name+`","old_string":"needle","new_string":"found"}`)
			if code := a.Error.Code; code != "denied" && !(name == "out" && code == "not-found") || a.Error.Message == "" {
				t.Errorf("editing %s: %+v", name, a)
			}
			if name == "out" {
				continue
			}
			if code := s.tool("write_file", `{"path":"`+name+`","content":"found"}`).Error.Code; code != "denied" {
				t.Errorf("writing %s: %q", name, code)
			}
		}
		for _, name := range hidden {
			if w.read(w.project+"/"+name) != "needle\n" {
				t.Errorf("%s was changed", name)
			}
		}
		if all := w.steps(); len(all) != 0 {
			t.Errorf("what was refused left steps: %+v", all)
		}
		want := []string{"env.txt", "keys.txt", "place/a.txt"}
		for _, more := range []string{"", `,"gitignore":false`} {
			for _, pattern := range []string{"needle", "(?i)NEEDLE", "n[a-e]+dle"} {
				if got := s.tool("grep", `{"pattern":"`+pattern+`","hidden":true`+more+`}`).found(); !slices.Equal(got, want) {
					t.Errorf("grep %s%s: %q", pattern, more, got)
				}
			}
			got := s.tool("glob", `{"pattern":"**","hidden":true,"limit":1000`+more+`}`).found()
			got = slices.DeleteFunc(got, func(n string) bool {
				return strings.HasPrefix(n, "many/") || strings.HasPrefix(n, ".git") || n == "out"
			})
			if !slices.Equal(got, want) {
				t.Errorf("glob%s: %q", more, got)
			}
		}
		for _, e := range s.tool("list_directory", `{"hidden":true}`).Answer.Entries {
			if (e.Name == ".env") != (e.Type == "denied") {
				t.Errorf("listed: %+v", e)
			}
		}
		// Canary: without the walls they are found.
		cmd := exec.Command(w.bin, "grep")
		cmd.Args[0], cmd.Args = "carrel-file", []string{"carrel-file", "grep"}
		cmd.Dir, cmd.Stdin = w.project, strings.NewReader(`{"pattern":"needle","hidden":true,"gitignore":false}`)
		out, err := cmd.Output()
		for _, name := range hidden {
			if err != nil || !strings.Contains(string(out), name) {
				t.Errorf("canary: %s is not in %s: %v", name, out, err)
			}
		}
	})
}

// TestFileToolsOddFiles: what is no file does not hold a tool up, and a link out of
// the project leads where the walls let it.
func TestFileToolsOddFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, self())
	w.must(syscall.Mkfifo(w.project+"/fifo", 0o600))
	w.own(w.project + "/fifo")
	w.write(w.project+"/file", "needle\n")
	w.write(w.outside+"/there", "needle\n")
	w.symlink(w.outside, w.project+"/away")
	w.symlink(".", w.project+"/loop")
	s := w.stays("odd")
	start := time.Now()
	for _, name := range []string{"fifo", "/dev/tty", "/dev/zero", "/dev/stdin"} {
		a := s.tool("read_file", `{"path":"`+name+`"}`)
		b := s.tool("write_file", `{"path":"`+name+`","content":"x"}`)
		if a.Error.Code != "not-regular" || b.Error.Code != "not-regular" {
			t.Errorf("%s: %+v %+v", name, a, b)
		}
	}
	if got := s.tool("grep", `{"pattern":"needle"}`).found(); !slices.Equal(got, []string{"file"}) {
		t.Errorf("grep: %q", got)
	}
	if got := s.tool("glob", `{"pattern":"**/there"}`).found(); len(got) != 0 {
		t.Errorf("glob: %q", got)
	}
	if a := s.tool("read_file", `{"path":"away/there"}`); a.Error.Code != "not-found" {
		t.Errorf("out of the project: %+v", a)
	}
	if a := s.tool("write_file", `{"path":"away/new","content":"x"}`); a.Error.Code == "" || exists(w.outside+"/new") {
		t.Errorf("out of the project: %+v", a)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	if _, err := os.Stat(w.project + "/fifo"); err != nil {
		t.Error(err)
	}
}
