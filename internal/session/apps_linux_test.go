package session

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/decide"
	"carrel/internal/fileops"
	"carrel/internal/profile"
	"carrel/internal/sandbox"
	"carrel/internal/screen"
)

// appsOf is a table of apps by "ID NAME", with a ! before those that run.
func appsOf(list ...string) *appTable {
	t := &appTable{name: "dev", decided: &decide.Decision{Plan: &sandbox.Plan{}}}
	for i, one := range list {
		one, runs := strings.CutPrefix(one, "!")
		id, name, _ := strings.Cut(one, " ")
		t.all = append(t.all, &app{label: uint64(i), info: api.App{ID: id, Name: name, Running: runs}})
	}
	return t
}

// TestAppsAreFound: by the id, by the name, where one that runs goes before others and a newer one
// before older ones, and by the beginning of the id, if that is clear.
func TestAppsAreFound(t *testing.T) {
	apps := appsOf("a10 web", "!a11 web", "a12 web", "b20 top", "b21 top", "c30 a1", "d40 x")
	for word, want := range map[string]string{"a10": "a10", "web": "a11", "top": "b21", "a1": "c30", "d": "d40", "a": "several apps",
		"b2": "several apps", "none": "no app", "": "no app"} {
		a, err := apps.find(word)
		var why *api.Denial
		switch {
		case err == nil && a.info.ID != want:
			t.Errorf("%q: %s, want %s", word, a.info.ID, want)
		case err != nil && (!errors.As(err, &why) || why.Code != api.CodeNoApp || !strings.Contains(why.Message, want)):
			t.Errorf("%q: %v, want %s", word, err, want)
		}
	}
	if n := apps.running(); n != 1 {
		t.Errorf("%d run", n)
	}
}

// TestOldAppsAreForgotten: of those that have ended the newest are kept, and each that runs, or has
// left processes.
func TestOldAppsAreForgotten(t *testing.T) {
	var list []string
	for i := range keptApps + 10 {
		list = append(list, fmt.Sprintf("x%03d x", i))
	}
	list[0], list[3] = "!run x", "left x"
	apps := appsOf(list...)
	apps.all[3].info.Processes = 1
	apps.forgetOld()
	var ids []string
	for _, a := range apps.all {
		ids = append(ids, a.info.ID)
	}
	if want := []string{"run", "left", "x011"}; !slices.Equal(ids[:3], want) || len(ids) != keptApps+1 {
		t.Errorf("%d: %q, want %q", len(ids), ids[:5], want)
	}
}

// TestCommandsOfApps: what may be started, where, and with which variables.
func TestCommandsOfApps(t *testing.T) {
	apps := appsOf()
	apps.decided.Plan.Command = sandbox.Command{Dir: "/p", Env: []string{"A=1", "AB=2", "CARREL=ab12"}}
	for _, c := range []struct {
		in   api.Command
		want string // directory and variables, or ! and a part of the refusal
	}{
		{api.Command{Argv: []string{"x"}}, "/p A=1 AB=2 CARREL=ab12"},
		{api.Command{Argv: []string{"x"}, Dir: "/a/../b"}, "/b A=1 AB=2 CARREL=ab12"},
		{api.Command{Argv: []string{"x"}, Env: []string{"A=3=4", "N="}}, "/p AB=2 CARREL=ab12 A=3=4 N="},
		{api.Command{Argv: []string{"x"}, Env: []string{"CARRELS=1"}}, "/p A=1 AB=2 CARREL=ab12 CARRELS=1"},
		{api.Command{}, "!no command"}, {api.Command{Argv: []string{""}}, "!no command"},
		{api.Command{Argv: []string{"x"}, Dir: "sub"}, "!not an absolute path"},
		{api.Command{Argv: []string{"x", "a\x00b"}}, "!zero byte"},
		{api.Command{Argv: []string{"x"}, Env: []string{"A"}}, "!no variable"},
		{api.Command{Argv: []string{"x"}, Env: []string{"=1"}}, "!no variable"},
		{api.Command{Argv: []string{"x"}, Env: []string{"A=\x00"}}, "!no variable"},
		{api.Command{Argv: []string{"x"}, Env: []string{"CARREL=other"}}, "!no variable"},
		{api.Command{Argv: []string{"x"}, Env: []string{"CARREL_X=1"}}, "!no variable"},
	} {
		argv, env, dir, err := apps.command(&c.in)
		if part, refused := strings.CutPrefix(c.want, "!"); refused {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%+v: %v, want %s", c.in, err, part)
			}
		} else if got := dir + " " + strings.Join(env, " "); err != nil || got != c.want || !slices.Equal(argv, c.in.Argv) {
			t.Errorf("%+v: %q, %q, %v, want %q", c.in, argv, got, err, c.want)
		}
	}
	if got := apps.decided.Plan.Command.Env; len(got) != 3 || got[0] != "A=1" {
		t.Errorf("the variables of the workspace have become %q", got)
	}
}

// TestFileToolsThatRead: only our own helper, without variables, with an operation that changes
// nothing, is carried out where a workspace is only looked at.
func TestFileToolsThatRead(t *testing.T) {
	reads := func(c *api.Command) bool { return onlyReads(&api.Request{Op: api.OpExec, Command: c}) }
	for operation, want := range map[string]bool{"read_file": true, "grep": true, "write_file": false, "edit_file": false, "none": false,
		fileops.Stay: false} {
		if got := reads(&api.Command{Argv: []string{helperPath, operation}}); got != want {
			t.Errorf("%s: %v", operation, got)
		}
	}
	for _, c := range []*api.Command{nil, {}, {Argv: []string{helperPath}}, {Argv: []string{"/bin/carrel-file", "read_file"}},
		{Argv: []string{helperPath, "read_file"}, Env: []string{"LD_PRELOAD=/x"}}} {
		if reads(c) {
			t.Errorf("%+v", c)
		}
	}
	if onlyReads(&api.Request{Op: api.OpLaunch, Command: &api.Command{Argv: []string{helperPath, "read_file"}}}) {
		t.Error("what is launched stays")
	}
}

// TestHelperIsOnes: a helper that stays carries out one request at a time, of its own directory, and
// one that was let go of is not given again.
func TestHelperIsOnes(t *testing.T) {
	conn, other, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	h := &fileHelper{dir: "/p", conn: conn}
	f := &fileHelpers{there: h, idle: time.NewTimer(time.Hour)}
	if f.take("/other") != nil || f.take("/p") != h || f.take("/p") != nil {
		t.Error("it is taken twice, or for another directory")
	}
	f.give(&fileHelper{})
	if f.take("/p") != nil {
		t.Error("another one was given back")
	}
	f.give(h)
	if f.take("/p") != h {
		t.Error("it was given back")
	}
	f.drop(&fileHelper{})
	if f.there != h {
		t.Error("another one was dropped")
	}
	if f.drop(h); f.take("/p") != nil || conn.Close() == nil {
		t.Error("it is there still, or its connection is")
	}
}

// TestDescriptorsThatCross: a pipe and the device of nothing do, a directory and a file do not, and
// three are needed.
func TestDescriptorsThatCross(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if err := mayCross([]*os.File{r, w, null}); err != nil {
		t.Error(err)
	}
	if err := mayCross([]*os.File{r, w}); err == nil || !strings.Contains(err.Error(), "three descriptors") {
		t.Errorf("two: %v", err)
	}
	dir := t.TempDir()
	file, err := os.Create(dir + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	top, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	for _, f := range []*os.File{file, top} {
		if err := mayCross([]*os.File{null, null, f}); err == nil || !strings.Contains(err.Error(), "standard descriptor 2") {
			t.Errorf("%s: %v", f.Name(), err)
		}
	}
}

// TestNewestLines: of what has left a screen the last lines are told that fit, each as a whole.
func TestNewestLines(t *testing.T) {
	lines := []string{"aaaa", "bb", "", "cc"} // as JSON with a comma: 7, 5, 3, 5
	for most, want := range map[int]int{0: 0, 4: 0, 5: 1, 7: 1, 8: 2, 12: 2, 13: 3, 19: 3, 20: 4, 100: 4} {
		if got := newest(lines, most); len(got) != want || want > 0 && got[want-1] != "cc" {
			t.Errorf("%d bytes: %q, want %d", most, got, want)
		}
	}
	for n, want := range map[int]int{-1: 80, 0: 80, 1: 1, 200: 200, 900: 500} {
		if got := sizeOr(n, 80, 500); got != want {
			t.Errorf("%d: %d", n, got)
		}
	}
}

// TestKeysOfTerminals: what is sent is text, then keys; one that there is not sends nothing, and
// nothing is sent to a program that has ended.
func TestKeysOfTerminals(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	term := &terminal{screen: screen.New(80, 24, 0), near: w, columns: 80, rows: 24}
	if n, err := term.send(t.Context(), &api.Input{Data: []byte("d"), Text: "a", Keys: []string{"no such key"}}); err == nil || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
	n, err := term.send(t.Context(), &api.Input{Data: []byte("d"), Text: "a", Keys: []string{"Enter", "ctrl+c"}})
	buf := make([]byte, 64)
	if got, _ := r.Read(buf); err != nil || n != got || string(buf[:got]) != "da\r\x03" {
		t.Errorf("%q, %d, %v", buf[:got], n, err)
	}
	term.ended = true
	if n, err := term.send(t.Context(), &api.Input{Text: "a"}); err == nil || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
}

// TestProfileCommands: what a profile starts is named by its name or its program.
func TestProfileCommands(t *testing.T) {
	c := &profile.Command{Argv: []string{"make", "run"}, Cwd: "/p"}
	if got := asked(c); calledBy(c) != "make" || got.Dir != "/p" || len(got.Env) != 0 || !slices.Equal(got.Argv, c.Argv) {
		t.Errorf("%s, %+v", calledBy(c), got)
	}
	if c.Name = "server"; calledBy(c) != "server" || asked(c).Name != "server" || calledBy(&profile.Command{}) != "" {
		t.Errorf("%s", calledBy(c))
	}
}
