package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/decide"
	"carrel/internal/hostexec"
	"carrel/internal/notices"
	"carrel/internal/sandbox"
	"carrel/internal/steps"
)

// hostOf is a service for commands of the host, of a project with other roots.
func hostOf(t *testing.T, project string, roots ...string) *hostService {
	d := &decide.Decision{Plan: &sandbox.Plan{Roots: roots}}
	d.Place.Project = project
	h := &hostService{p: &Session{Decision: d}, ready: make(chan struct{}), told: make(map[string]bool)}
	h.ctx, h.end = context.WithCancel(t.Context())
	return h
}

// TestPlacesOfHostCommands: a command works in the project, or in what else can be written; a link
// that leads out of it is no place, and neither is what is not there.
func TestPlacesOfHostCommands(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"p/sub", "q/sub", "pp"} {
		if err := os.MkdirAll(dir+"/"+d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"p/in": "sub", "p/out": "../pp", "p/abs": dir + "/p/sub", "p/sub/up": "../.."} {
		if err := os.Symlink(to, dir+"/"+link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/p/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h := hostOf(t, dir+"/p", dir+"/q", dir+"/gone")
	for at, want := range map[string]string{"": "p", "p": "p", "p/": "p", "p/sub": "p/sub", "q/sub": "q/sub", "p/in": "p/in", "p/sub/..": "p",
		"p/sub/../../pp": "", "p/out": "", "p/abs": "", "p/sub/up": "", "pp": "", "p/none": "", "p/file": "", "gone": "", "p/sub\x00": ""} {
		if at != "" {
			at = dir + "/" + at
		}
		got, problem := h.directory(&hostexec.Call{Command: "go", Dir: at})
		if want != "" {
			want = dir + "/" + want
		}
		if got != want || (problem == nil) != (want != "") {
			t.Errorf("%q: %q, %+v, want %q", at, got, problem, want)
		}
	}
	if got, problem := h.directory(&hostexec.Call{Command: "go", Dir: "sub"}); problem == nil || problem.Exit != api.ExitNotRunable {
		t.Errorf("a relative one: %q, %+v", got, problem)
	}
}

// TestWordsOfHostCommands: what a person is asked about says each word as it is, and no variable
// that the command does not get; what logs have of it is bounded.
func TestWordsOfHostCommands(t *testing.T) {
	for word, want := range map[string]string{"": `""`, "a": "a", "a b": `"a b"`, "a\x1b[0m": `"a\x1b[0m"`, "ü": `"\u00fc"`, "a=b": "a=b",
		"$(x)": `"$(x)"`, "a;b": `"a;b"`, "\u202e": `"\u202e"`, "\xff": `"\xff"`, "~": "~"} {
		if got := quotedWord(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
	call := &hostexec.Call{Command: "go", Args: []string{"test", "a b"}, Env: []string{"GOFLAGS=-v x", "HOME=/evil", "B=1"}}
	command := &config.HostCommand{Name: "go", Env: []string{"GO*"}}
	if got, want := wholeCall(command, call, "/p q"), `go test "a b"  in "/p q"  with "GOFLAGS=-v x"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	call.Args = []string{"test", strings.Repeat("x", maxHostSubject), "more"}
	if got, want := commandLine(call), "go test ... (and 2 more words)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for text, want := range map[string]string{"abc": "abc", "abcde": "abcd", "abcü": "abc", "a\xffb": "ab"} {
		if got := shortText(text, 4); got != want || !utf8.ValidString(got) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestRefusedHostCommandsAreTold: each command line once, and no more than are kept.
func TestRefusedHostCommandsAreTold(t *testing.T) {
	h := hostOf(t, "/p")
	refuse := func(code string, args ...string) {
		p := h.refused(&hostexec.Problem{Code: code, Message: "m", Hint: "h"}, &hostexec.Call{Command: "go", Args: args}, "r", "s")
		if p.Operation != "host-exec" || p.Subject != strings.Join(append([]string{"go"}, args...), " ") || p.Rule != "r" || p.Source != "s" {
			t.Errorf("%+v", p)
		}
	}
	for range 3 {
		refuse("one", "a")
		refuse("two", "a")
		refuse("one", "b")
	}
	if told := h.p.Refused(); len(told) != 3 || told[0].Subject != "go a" || told[1].Code != "two" || told[2].Subject != "go b" ||
		told[0].Message != "m" || told[0].Hint != "h" {
		t.Errorf("%+v", told)
	}
	for i := range notices.MaxDenials {
		refuse("many", strings.Repeat("x", i+1))
	}
	if told := h.p.Refused(); len(told) != notices.MaxDenials {
		t.Errorf("%d are told", len(told))
	}
}

// TestStatusesAreBounded: programs inside say no more than so much in a second.
func TestStatusesAreBounded(t *testing.T) {
	h := hostOf(t, "/p")
	h.end() // no client hears it
	var busy int
	for range steps.MarksPerSecond + 3 {
		if p := h.Status("working"); p != nil {
			if busy++; p.Code != api.CodeBusy {
				t.Errorf("%+v", p)
			}
		}
	}
	if busy != 3 {
		t.Errorf("%d are refused", busy)
	}
	h.spokenFrom = h.spokenFrom.Add(-2e9)
	if p := h.Title("a"); p != nil {
		t.Errorf("in the next second: %+v", p)
	}
}

// TestVariablesOfHostCommands: a command gets those of its walls, of its caller's the usual ones and
// those that may be passed, and of the person's own those that it is to have.
func TestVariablesOfHostCommands(t *testing.T) {
	d := &decide.Decision{Plan: &sandbox.Plan{Command: sandbox.Command{Env: []string{"PATH=/bin", "TERM=dumb"}}}}
	d.Request.Environ = []string{"TOKEN=secret", "OTHER=x"}
	w := &hostWalls{p: &Session{Decision: d}}
	from := []string{"TERM=xterm", "LC_ALL=C", "PATH=/evil", "GOFLAGS=-v", "TOKEN=theirs", "LD_PRELOAD=/x", "LANG", "TZ=a\x00b"}
	for _, c := range []struct {
		command config.HostCommand
		want    string
	}{
		{config.HostCommand{Network: config.HostNetworkWorkspace}, "PATH=/bin TERM=xterm LC_ALL=C"},
		{config.HostCommand{Network: config.HostNetworkWorkspace, Env: []string{"GO*"}}, "PATH=/bin TERM=xterm LC_ALL=C GOFLAGS=-v"},
		{config.HostCommand{Network: config.HostNetworkWorkspace, Env: []string{"*"}},
			"TERM=xterm LC_ALL=C GOFLAGS=-v TOKEN=theirs PATH=/bin"}, // a pattern does not pass what leads programs
		{config.HostCommand{SecretEnv: []string{"TOKEN", "NONE"}, Env: []string{"TOKEN"}},
			"PATH=/bin TERM=xterm LC_ALL=C TMPDIR=" + privateTemp + " TOKEN=secret"},
	} {
		got, want := w.environ(&c.command, from), strings.Fields(c.want)
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("%+v: %q, want %q", c.command, got, want)
		}
	}
	if env := d.Plan.Command.Env; len(env) != 2 || env[1] != "TERM=dumb" {
		t.Errorf("the variables of the walls have become %q", env)
	}
}

// TestHostCommandsThatDoNotStart: what went wrong, and the status that a shell would tell.
func TestHostCommandsThatDoNotStart(t *testing.T) {
	command := &config.HostCommand{Name: "go"}
	for _, c := range []struct {
		err  error
		exit int
		says string
	}{
		{errors.New("no walls"), api.ExitOurs, "no walls"},
		{&sandbox.StartError{Name: "/p", Err: "gone", Code: 2}, api.ExitNotRunable, `the directory "/p" cannot be entered`},
		{&sandbox.StartError{Name: "go", Err: "gone", Code: 2}, api.ExitNotFound, "is not installed"},
		{&sandbox.StartError{Name: "go", Err: "permission denied", Code: 13}, api.ExitNotRunable, "permission denied"},
	} {
		if p := (&executor{}).notStarted(command, "/p", c.err); p.Exit != c.exit || !strings.Contains(p.Message, c.says) {
			t.Errorf("%v: %+v", c.err, p)
		}
	}
}
