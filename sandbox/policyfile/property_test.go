package policyfile

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawn is a policy of parts of which each may be wrong.
func drawn(t *rapid.T) *Policy {
	word := func(label string, words ...string) string { return rapid.SampledFrom(words).Draw(t, label) }
	list := func(label string, words ...string) []string {
		return rapid.SliceOfN(rapid.SampledFrom(words), 0, 2).Draw(t, label)
	}
	places := []string{"/", "/a", "/a/b", "/a b/\xff\xfe", "/\u00e9", ":cwd", ":cwd/x", ":system", ":tmp", ":tmp/x", ":home", "a", "/a/",
		"/a/../b", "/a\x00", ""}
	p := &Policy{Cwd: word("cwd", "", "/", "/w", "w", "/w/./x"), History: rapid.Bool().Draw(t, "history")}
	for range rapid.IntRange(0, 3).Draw(t, "rules") {
		r := Rule{Access: Access(word("access", "read", "write", "deny", "protect", "")),
			Missing: Missing(word("missing", "", "skip", "error", "no"))}
		if rapid.Bool().Draw(t, "glob") {
			r.Glob = word("pattern", "/a/*", ":cwd/**/*.pem", "**/x", "/a/{b", "/{a,b}", "/\xff*", "")
		} else {
			r.Path = word("path", places...)
		}
		p.Files = append(p.Files, r)
	}
	p.Environment.Pass = list("pass", "A", "B", "A*", "", "A=B")
	if rapid.Bool().Draw(t, "set") {
		p.Environment.Set = map[string]string{word("name", "A", "C", "C=D"): word("value", "", "x", "\xff", "\x00")}
	}
	p.Network = Network{Mode: NetworkMode(word("mode", "", "closed", "local", "filtered", "open", "on")),
		AllowHosts: list("allow", "a.example.com", "*.example.com:443", "*", "preset:npm", ""), DenyHosts: list("deny", "b.example.com", "a b"),
		HostPorts: rapid.SliceOfN(rapid.SampledFrom([]uint16{0, 1, 65535}), 0, 2).Draw(t, "ports")}
	if rapid.Bool().Draw(t, "publish") {
		p.Network.Publish = []Publish{{rapid.SampledFrom([]uint16{0, 80}).Draw(t, "inside"), 8080}}
	}
	p.UnixSockets, p.Devices = list("sockets", "/run/x", "x"), list("devices", "/dev/kvm", "kvm")
	if rapid.Bool().Draw(t, "programs") {
		p.Programs = list("program", "/bin/make", "make", "/bin/\xff")
	}
	p.Nested = Nesting(word("nested", "", "none", "userns", "full", "some"))
	p.Limits = Limits{Memory: rapid.Int64Range(-1, 1<<40).Draw(t, "memory"), Pids: rapid.Int64Range(-1, 1<<40).Draw(t, "pids"),
		Timeout: time.Duration(rapid.Int64Range(-1, 1<<50).Draw(t, "timeout"))}
	return p
}

// TestCheckIsWhatParseDoes: a policy that was made in Go is wrong exactly where the same policy in
// a file is, and a good one is read as what was written.
func TestCheckIsWhatParseDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawn(t)
		wrong := p.Check()
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(text, "p.json")
		if (wrong == nil) != (err == nil) {
			t.Fatalf("made in Go: %v\nas a file: %v\n%s", wrong, err, text)
		}
		if wrong != nil {
			return
		}
		again, err := json.Marshal(got)
		if err != nil || string(again) != string(text) {
			t.Fatalf("%s is read as %s, %v", text, again, err)
		}
		if got.Limits != p.Limits || !reflect.DeepEqual(got.Environment.Set, p.Environment.Set) || (got.Programs == nil) != (p.Programs == nil) {
			t.Fatalf("%+v is read as %+v", p, got)
		}
	})
}

// TestAllProblemsAtOnce: everything that is wrong is told, each time in the same order, and of much
// the first and how much more there is.
func TestAllProblemsAtOnce(t *testing.T) {
	p := &Policy{Cwd: "x", Nested: "x", Limits: Limits{Memory: -1, Pids: -1, Timeout: -1}}
	want := p.Check().Error()
	if n := len(strings.Split(want, "\n")); n != 5 {
		t.Errorf("%d problems, want 5:\n%s", n, want)
	}
	for range 50 {
		if got := p.Check().Error(); got != want {
			t.Fatalf("%s\nand then\n%s", want, got)
		}
	}
	for i := range maxProblems + 3 {
		p.Devices = append(p.Devices, fmt.Sprint(i))
	}
	if lines := strings.Split(p.Check().Error(), "\n"); len(lines) != maxProblems+1 || lines[maxProblems] != "and 8 more" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}

// TestReadFrom: a policy comes through a pipe or from a file that is open, and from nothing else; the
// name is the caller's, not that of the descriptor.
func TestReadFrom(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		for part := range strings.SplitAfterSeq(whole, "\n") { // in pieces
			_, _ = io.WriteString(w, part)
		}
		w.Close()
	}()
	if p, err := ReadFrom(r, "descriptor 5"); err != nil || !reflect.DeepEqual(p, wanted()) {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := ReadFrom(r, "descriptor 5"); err == nil || !strings.HasPrefix(err.Error(), "descriptor 5:") {
		t.Errorf("an empty one: %+v, %v", p, err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if _, err := ReadFrom(null, "descriptor 6"); err == nil || !strings.Contains(err.Error(), "descriptor 6 is neither a file nor a pipe") {
		t.Errorf("a device: %v", err)
	}
	if _, err := ReadFrom(w, "descriptor 7"); err == nil || !strings.Contains(err.Error(), "descriptor 7") ||
		strings.Contains(err.Error(), "|1") {
		t.Errorf("one that is closed: %v", err)
	}
}
