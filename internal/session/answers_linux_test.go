package session

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/advice"
	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/decide"
	"carrel/internal/fileops"
	"carrel/internal/hostfacts"
	"carrel/internal/policy"
	"carrel/internal/profile"
	"carrel/internal/protectednames"
	"carrel/internal/sandbox"
	"carrel/internal/statedir"
)

// decidedIn is a decision about a project of its own, by a policy made by hand.
func decidedIn(t *testing.T, rules ...policy.Rule) *decide.Decision {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/p/sub", "/other"} {
		if err := os.MkdirAll(home+dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d := new(decide.Decision)
	d.Facts, d.Loaded = hostfacts.New(), &config.Loaded{}
	d.Place = hostfacts.Place{Cwd: home + "/p", Project: home + "/p", Home: home}
	for i := range rules {
		rules[i].Path = strings.Replace(rules[i].Path, "~", home, 1)
	}
	d.Policy = &policy.Effective{Rules: rules, Scope: policy.Scope{Tmp: "/tmp"}}
	d.Plan = &sandbox.Plan{Command: sandbox.Command{Dir: d.Place.Cwd, Env: []string{"A=1", "B=2", "CARREL=1"}},
		Roots: []string{home + "/other"}}
	d.Request.Environ = []string{"PATH=" + home + "/bin:/usr/bin:/bin", "HOME=" + home}
	return d
}

// told gives what a person reads of an error, and the code of a denial.
func told(err error) (text, code string) {
	var denied *api.Denial
	var advised *advice.Error
	switch {
	case err == nil:
		return "", ""
	case errors.As(err, &denied):
		return denied.Message + "\n" + denied.Hint, denied.Code
	case errors.As(err, &advised):
		return advised.Err.Error() + "\n" + advised.Hint, ""
	}
	return err.Error(), ""
}

// TestCommandOfAnApp: a caller chooses words, a directory and variables, but none of carrel's
// own, and nothing with a zero byte.
func TestCommandOfAnApp(t *testing.T) {
	table := &appTable{decided: decidedIn(t), name: "dev"}
	for name, c := range map[string]struct {
		command api.Command
		env     string
		dir     string
		want    string
	}{
		"as it is":           {api.Command{Argv: []string{"x"}}, "A=1 B=2 CARREL=1", table.decided.Place.Cwd, ""},
		"with a variable":    {api.Command{Argv: []string{"x"}, Env: []string{"A=3", "C="}}, "B=2 CARREL=1 A=3 C=", table.decided.Place.Cwd, ""},
		"in a directory":     {api.Command{Argv: []string{"x"}, Dir: "/q/../r"}, "A=1 B=2 CARREL=1", "/r", ""},
		"a relative one":     {api.Command{Argv: []string{"x"}, Dir: "q"}, "", "", `"q" is not an absolute path`},
		"nothing":            {api.Command{}, "", "", "no command was given"},
		"no name":            {api.Command{Argv: []string{""}}, "", "", "no command was given"},
		"a zero byte":        {api.Command{Argv: []string{"x", "a\x00"}}, "", "", "an argument has a zero byte"},
		"carrel's own":       {api.Command{Argv: []string{"x"}, Env: []string{"CARREL=0"}}, "", "", "this is no variable"},
		"another of its own": {api.Command{Argv: []string{"x"}, Env: []string{"CARREL_X=0"}}, "", "", "this is no variable"},
		"called like it": {api.Command{Argv: []string{"x"}, Env: []string{"CARRELS=0"}}, "A=1 B=2 CARREL=1 CARRELS=0",
			table.decided.Place.Cwd, ""},
		"no value":      {api.Command{Argv: []string{"x"}, Env: []string{"C"}}, "", "", "this is no variable"},
		"a zero in one": {api.Command{Argv: []string{"x"}, Env: []string{"C=\x00"}}, "", "", "this is no variable"},
	} {
		argv, env, dir, err := table.command(&c.command)
		text, code := told(err)
		if !strings.HasPrefix(text, c.want) || (err != nil) != (c.want != "") || err != nil && code != api.CodeRequest {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err == nil && (strings.Join(env, " ") != c.env || dir != c.dir || !slices.Equal(argv, c.command.Argv)) {
			t.Errorf("%s: %q %q in %s", name, argv, env, dir)
		}
	}
	if got := strings.Join(table.decided.Plan.Command.Env, " "); got != "A=1 B=2 CARREL=1" {
		t.Errorf("the plan's own variables are now %q", got)
	}
}

// TestFoundApps: an id before a name, one that runs before one that has ended, the newest of a
// name, and the beginning of one id.
func TestFoundApps(t *testing.T) {
	one := func(id, name string, running bool) *app {
		return &app{info: api.App{ID: id, Name: name, Running: running}}
	}
	table := &appTable{name: "dev", all: []*app{one("aa1", "web", true), one("aa2", "web", false), one("bb1", "job", false), one("bb2",
		"job", false), one("web2", "x", true), one("x", "y", false)}}
	for word, want := range map[string]string{"aa1": "aa1", "web": "aa1", "job": "bb2", "bb1": "bb1", "x": "x", "we": "web2", "aa": "",
		"zz": "", "": ""} {
		a, err := table.find(word)
		if (err != nil) != (want == "") || a != nil && a.info.ID != want {
			t.Errorf("%q: %+v %v", word, a, err)
		}
		text, code := told(err)
		if err != nil && (code != api.CodeNoApp || strings.HasPrefix(text, "several apps begin with") != (word == "aa")) {
			t.Errorf("%q: %q", word, text)
		}
	}
	if table.running() != 2 {
		t.Errorf("%d run", table.running())
	}
}

// TestAnswered: any error of an operation is a denial to its caller.
func TestAnswered(t *testing.T) {
	refused := api.Refused(api.CodeBusy, "exec", "x", "busy", "")
	for name, c := range map[string]struct {
		err  error
		code string
	}{"none": {nil, ""}, "a denial": {fmt.Errorf("asking: %w", refused), api.CodeBusy}, "another": {errors.New("other"), api.CodeRequest}} {
		r := answered(api.Reply{OK: true}, c.err, "exec", "dev")
		if r.OK != (c.err == nil) || (r.Error != nil) != (c.err != nil) || r.Error != nil && r.Error.Code != c.code {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r, err := notStartedReply(127, errors.New("x")); *r.Exit != 127 || err == nil {
		t.Errorf("%+v %v", r, err)
	}
}

// TestFileToolsThatOnlyRead: a request that changes a file is none, whatever it is called.
func TestFileToolsThatOnlyRead(t *testing.T) {
	for name, c := range map[string]struct {
		req  api.Request
		tool bool
		want bool
	}{
		"another program": {api.Request{Op: api.OpExec, Command: &api.Command{Argv: []string{"cat", "read"}}}, false, false},
		"no words":        {api.Request{Op: api.OpExec, Command: &api.Command{Argv: []string{helperPath}}}, false, false},
		"no such tool":    {api.Request{Op: api.OpExec, Command: &api.Command{Argv: []string{helperPath, "none-such"}}}, false, false},
	} {
		if got := onlyReads(&c.req); got != c.want || isFileTool(c.req.Command) != c.tool {
			t.Errorf("%s: %v", name, got)
		}
	}
	seen := map[bool]int{}
	for _, tool := range []string{"read_file", "write_file", "edit_file", "list_directory", "glob", "grep"} {
		if !fileops.Known(tool) {
			continue
		}
		c := &api.Command{Argv: []string{helperPath, tool}}
		seen[fileops.Changes(tool)]++
		if got := onlyReads(&api.Request{Op: api.OpExec, Command: c}); got == fileops.Changes(tool) {
			t.Errorf("%s only reads: %v", tool, got)
		}
		if onlyReads(&api.Request{Op: api.OpLaunch, Command: c}) {
			t.Errorf("%s is launched", tool)
		}
		if c.Env = []string{"LD_PRELOAD=x"}; isFileTool(c) {
			t.Errorf("%s with a variable of its caller's is a file tool", tool)
		}
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("tools that change and tools that do not: %v", seen)
	}
	if onlyReads(&api.Request{Op: api.OpExec}) {
		t.Error("no command only reads")
	}
}

// TestChangesAreCounted: files by their change time, without the repository's own bookkeeping,
// and those by which the user would run code later are named.
func TestChangesAreCounted(t *testing.T) {
	dir := t.TempDir()
	write := func(at string) {
		if err := os.MkdirAll(filepath.Dir(dir+at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+at, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("/old")
	time.Sleep(60 * time.Millisecond) // longer than the grain of change times
	start := time.Now()
	if c := protectednames.ChangedSince(dir, start); c.Files != 0 || !c.Complete || c.Risky != nil {
		t.Errorf("nothing was done: %+v", c)
	}
	for _, at := range []string{"/new", "/sub/new", "/.git/index", "/.git/objects/a", "/.git/hooks/pre-commit", "/.envrc"} {
		write(at)
	}
	back := time.Unix(1, 0)
	if err := os.Chtimes(dir+"/new", back, back); err != nil { // which is no change time
		t.Fatal(err)
	}
	c := protectednames.ChangedSince(dir, start)
	slices.Sort(c.Risky)
	if c.Files != 4 || !slices.Equal(c.Risky, []string{".envrc", ".git/hooks/pre-commit"}) {
		t.Errorf("%+v", c)
	}
}

// TestHiddenFilesAreTold: the first few by name, and how many there are beside them.
func TestHiddenFilesAreTold(t *testing.T) {
	if d := hiddenDenial(&api.Result{}, "/p"); d.Code != "" {
		t.Errorf("%+v", d)
	}
	d := hiddenDenial(&api.Result{Hidden: slices.Repeat([]string{".env"}, maxHiddenNamed+3)}, "/p")
	if d.Code != api.CodeHidden || d.Project != "/p" || !strings.HasSuffix(d.Subject, " and 3 more") || strings.Count(d.Subject,
		".env") != maxHiddenNamed {
		t.Errorf("%+v", d)
	}
}

// TestPausedProjectStartsNothing: neither in it nor below it.
func TestPausedProjectStartsNothing(t *testing.T) {
	d := decidedIn(t)
	s := &Session{Decision: d}
	if err := startsHere(s); err != nil {
		t.Errorf("without a state directory: %v", err)
	}
	state, err := statedir.Open(d.Place.Home + "/state")
	if err != nil {
		t.Fatal(err)
	}
	d.State = state
	if err := startsHere(s); err != nil {
		t.Errorf("not paused: %v", err)
	}
	if _, err := state.Pauses().Begin(api.ProjectPause{Project: d.Place.Project, Since: time.Now(), By: "person"}); err != nil {
		t.Fatal(err)
	}
	for at, refused := range map[string]bool{d.Place.Project: true, d.Place.Project + "/sub": true, d.Place.Home + "/other": false} {
		d.Place.Project = at
		if err := startsHere(s); (err != nil) != refused {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// TestCeilingShowsTheDirectory: a client's server is told where its ceiling shows nothing of
// the directory that its calls work in.
func TestCeilingShowsTheDirectory(t *testing.T) {
	ceiling := &policy.Ceiling{Source: policy.Source{File: "/c"}}
	for name, c := range map[string]struct {
		owner   int
		ceiling *policy.Ceiling
		rule    policy.Rule
		refused bool
	}{
		"nothing of it":  {1, ceiling, policy.Rule{Path: "~/other", Access: policy.Read}, true},
		"all of it":      {1, ceiling, policy.Rule{Path: "~/p", Access: policy.Read}, false},
		"a part of it":   {1, ceiling, policy.Rule{Path: "~/p/sub", Access: policy.Write}, false},
		"a denied part":  {1, ceiling, policy.Rule{Path: "~/p/sub", Access: policy.Deny}, true},
		"no ceiling":     {1, nil, policy.Rule{Path: "~/other", Access: policy.Read}, false},
		"a person's own": {0, ceiling, policy.Rule{Path: "~/other", Access: policy.Read}, false},
	} {
		d := decidedIn(t, c.rule)
		d.Loaded.Ceiling = c.ceiling
		err := showsOwn(&Session{Decision: d}, c.owner)
		if _, code := told(err); (err != nil) != c.refused || c.refused && code != api.CodeCeiling {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOwner: a workspace ends with the process that it belongs to, and no other is that.
func TestOwner(t *testing.T) {
	if o, err := holdOwner(0, nil); o != nil || err != nil || o.is(os.Getpid()) {
		t.Errorf("nobody: %+v %v", o, err)
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan bool)
	o, err := holdOwner(child.Process.Pid, func() { close(ended) })
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	if !o.is(child.Process.Pid) || o.is(os.Getpid()) {
		t.Error("which process it is")
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
	if o.is(child.Process.Pid) {
		t.Error("it has ended, and is still the owner")
	}
	_ = child.Wait()
	if _, err := holdOwner(child.Process.Pid, nil); err == nil {
		t.Error("a process that is gone can be held")
	}
}

// TestAppsOfAProfile: what is asked for, with its name or the program's.
func TestAppsOfAProfile(t *testing.T) {
	c := &profile.Command{Argv: []string{"npm", "ci"}, Cwd: "/p"}
	if got := asked(c); calledBy(c) != "npm" || got.Dir != "/p" || !slices.Equal(got.Argv, c.Argv) || got.Env != nil {
		t.Errorf("%s %+v", calledBy(c), got)
	}
	if c.Name = "web"; calledBy(c) != "web" || calledBy(&profile.Command{}) != "" {
		t.Error("by its name")
	}
}
