package session

import (
	"os"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/hostexec"
	"carrel/internal/steps"
)

// TestWordsOfAHostCommand: a person who is asked sees each word as it is, and only the
// variables that the command gets.
func TestWordsOfAHostCommand(t *testing.T) {
	for word, want := range map[string]string{"a-b/c.d": "a-b/c.d", "": `""`, "a b": `"a b"`, "a;b": `"a;b"`, "$x": `"$x"`,
		"é\x1b": `"\u00e9\x1b"`, "'": `"'"`} {
		if got := quotedWord(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
	c := &hostexec.Call{Command: "gh", Args: []string{"pr", "a b"}, Env: []string{"GH_A=1", "TOKEN=x"}}
	if got := wholeCall(&config.HostCommand{Env: []string{"GH_*"}}, c, "/p q"); got != `gh pr "a b"  in "/p q"  with GH_A=1` {
		t.Error(got)
	}
	if got := commandLine(c); got != `gh pr "a b"` {
		t.Error(got)
	}
	c.Args = append(c.Args, strings.Repeat("x", maxHostSubject), "y")
	if got := commandLine(c); got != `gh pr "a b" ... (and 2 more words)` {
		t.Error(got)
	}
	if got := shortText("aé", 2); got != "a" {
		t.Errorf("%q", got)
	}
}

// TestDirectoryOfAHostCommand: in the project or in what else can be written, and over no link
// that leads out.
func TestDirectoryOfAHostCommand(t *testing.T) {
	d := decidedIn(t)
	for at, to := range map[string]string{"/p/out": d.Place.Home, "/p/in": "sub", "/p/up": "../other"} {
		if err := os.Symlink(to, d.Place.Home+at); err != nil {
			t.Fatal(err)
		}
	}
	h := &hostService{p: &Session{Decision: d}, told: map[string]bool{}}
	for dir, want := range map[string]string{
		"": "/p", "/p": "/p", "/p/sub": "/p/sub", "/p/in": "/p/in", "/other": "/other", "/p/../p/sub": "/p/sub",
		"/p/out": "-", "/p/up": "-", "/p/none": "-", "/": "-", "sub": "-", "/p/sub\x00": "-", "/pp": "-", "/p/..": "-",
	} {
		full := dir
		if strings.HasPrefix(dir, "/") {
			full = d.Place.Home + dir
		}
		got, problem := h.directory(&hostexec.Call{Command: "make", Dir: full})
		if (problem != nil) != (want == "-") || problem == nil && got != d.Place.Home+want {
			t.Errorf("%q: %q refused %v", dir, got, problem)
		}
	}
}

// TestStatusesOfPrograms: a status is told once, and no more of them in a second than marks.
func TestStatusesOfPrograms(t *testing.T) {
	h := &hostService{spokenFrom: time.Now().Add(time.Hour), lastSpoken: "status: same"} // one second that does not end
	for i := range 2 * steps.MarksPerSecond {
		problem := h.Status("same")
		if (problem != nil) != (i >= steps.MarksPerSecond) || problem != nil && problem.Code != api.CodeBusy {
			t.Fatalf("status %d: %+v", i, problem)
		}
	}
	if problem := h.Do(t.Context(), hostexec.TypeClipboard, hostexec.Task{}); problem == nil ||
		!strings.Contains(problem.Message, "is not read from inside") ||
		problem.Code != hostexec.CodeUnsupported {
		t.Errorf("%+v", problem)
	}
	if got := (&hostService{}).Commands(); got == nil || len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// TestWhichCommandsAreRefused: a command that is not listed, or not with these arguments, is
// refused with what is allowed, and told of once.
func TestWhichCommandsAreRefused(t *testing.T) {
	d := decidedIn(t)
	var heard []api.Denial
	d.Hear(func(one api.Denial) { heard = append(heard, one) })
	h := &hostService{p: &Session{Decision: d}, told: map[string]bool{}, commands: []config.HostCommand{
		{Name: "gh", Args: []config.ArgPattern{{Words: []string{"pr", "*"}, Text: "pr *"}}}, {Name: "make"}}}
	for name, c := range map[string]struct {
		call hostexec.Call
		code string
		exit int
		hint string
	}{
		"not listed": {hostexec.Call{Command: "rm"}, hostexec.CodeUnknown, api.ExitNotFound, "there are: gh, make"},
		"by a path":  {hostexec.Call{Command: "/usr/bin/make"}, hostexec.CodeUnknown, api.ExitNotFound, "there are: gh, make"},
		"other arguments": {hostexec.Call{Command: "gh", Args: []string{"api", "x"}}, api.CodeProgram, api.ExitNotRunable,
			`host_commands allows: "pr *"`},
		"too few": {hostexec.Call{Command: "gh", Args: []string{"pr"}}, api.CodeProgram, api.ExitNotRunable,
			`host_commands allows: "pr *"`},
		"another directory": {hostexec.Call{Command: "make", Dir: "/"}, hostexec.CodeRequest, api.ExitNotRunable, "change to " + d.Place.Project},
	} {
		before := len(heard)
		for range 2 {
			_, problem := h.Start(t.Context(), c.call)
			if problem == nil || problem.Code != c.code || int(problem.Exit) != c.exit || problem.Hint != c.hint ||
				problem.Operation != "host-exec" {
				t.Errorf("%s: %+v", name, problem)
			}
		}
		if len(heard) != before+1 {
			t.Errorf("%s: told %d times", name, len(heard)-before)
		}
	}
}
