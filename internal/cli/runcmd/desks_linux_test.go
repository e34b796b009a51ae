package runcmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/clitest"
)

// TestLaunch: a command is started with its name, directory and variables; with --wait exit
// its status is the command's.
func TestLaunch(t *testing.T) {
	p := clitest.New(t, Commands())
	w := p.Desk("ab12", "dev")
	w.Reply = api.Reply{OK: true, App: &api.App{ID: "7f00", Name: "ser\nver", Exit: 4}}
	t.Setenv("SAID", "outside")
	p.Run("launch dev --name web --cwd /srv --env A=b=c --env SAID -- serve --port 80").OK("7f00 ser\\nver\n")
	asked := w.Asked()
	if len(asked) != 1 || asked[0].Op != api.OpLaunch {
		t.Fatalf("%+v", asked)
	}
	c := asked[0].Command
	if c.Name != "web" || c.Dir != "/srv" || !slices.Equal(c.Argv, []string{"serve", "--port", "80"}) ||
		!slices.Equal(c.Env, []string{"A=b=c", "SAID=outside"}) {
		t.Errorf("%+v", c)
	}
	if r := p.Run("launch dev --wait exit -- make"); r.Status != 4 || r.Err != "" {
		t.Errorf("%+v", r)
	}
	if asked := w.Asked(); len(asked) != 2 || asked[1].Op != api.OpWait || asked[1].App != "7f00" || asked[0].Command.Dir != p.Project {
		t.Errorf("%+v", asked)
	}
	var one api.App
	if p.Run("launch dev --json make").OK().JSON(&one); one.ID != "7f00" {
		t.Errorf("%+v", one)
	}
	status := 127
	w.Reply = api.Reply{Error: &api.Denial{Code: api.CodeStart, Message: "no such program"}, Exit: &status}
	p.Run("launch dev nothing").Fails(127, "no such program")
	w.Reply.Exit = nil
	p.Run("launch dev nothing").Fails(api.ExitOurs, "no such program")
	p.Refusals(map[string]string{
		"launch dev --wait soon -- make": `--wait "soon": want none or exit`,
		"launch dev":                     "no command given",
		"launch absent -- make":          "absent",
		"exec dev":                       "no command given",
		"exec dev --tty -- make":         "--tty: standard input is no terminal",
		"attach dev a b":                 "takes a workspace and an app",
	})
}

// TestLauncher: a .desktop file gives the command and the name, and its files go with it.
func TestLauncher(t *testing.T) {
	p := clitest.New(t, Commands())
	w := p.Desk("ab12", "dev")
	w.Reply = api.Reply{OK: true, App: &api.App{ID: "7f00"}}
	file := p.Write("view.desktop", "[Desktop Entry]\nType=Application\nName=The viewer\nExec=view --new %F\n")
	p.Words("launch", "dev", "--desktop-file", file, "--", "a b", "-c").OK()
	p.Words("launch", "dev", "--desktop-file", file, "--name", "mine").OK()
	asked := w.Asked()
	if len(asked) != 2 || !slices.Equal(asked[0].Command.Argv, []string{"view", "--new", "a b", "./-c"}) ||
		asked[0].Command.Name != "The viewer" || asked[1].Command.Name != "mine" {
		t.Errorf("%+v", asked)
	}
	wrong := p.Write("wrong.desktop", "[Desktop Entry]\nType=Application\nName=x\nExec=a;b\n")
	p.Words("launch", "dev", "--desktop-file", wrong).Fails(api.ExitOurs, wrong+": line 4: Exec: ")
	p.Words("launch", "dev", "--desktop-file", p.Home+"/absent").Fails(api.ExitOurs, "absent")
}

// TestTerminals: a terminal is started with its size, typed into by names of keys, and read as
// text that a terminal does not act on.
func TestTerminals(t *testing.T) {
	p := clitest.New(t, Commands())
	w := p.Desk("ab12", "dev")
	w.Reply = api.Reply{OK: true, App: &api.App{ID: "7f00", Name: "bash"}}
	p.Run("terminal start dev --columns 120 --rows 40 --name shell").OK("7f00 bash\n")
	if asked := w.Asked(); len(asked) != 1 || asked[0].Op != api.OpTerminal {
		t.Errorf("%+v", asked)
	} else if c := asked[0].Command; c.Columns != 120 || c.Rows != 40 || c.Name != "shell" || len(c.Argv) != 0 {
		t.Errorf("%+v", c)
	}
	w.Reply = api.Reply{OK: true}
	p.In = "from a file\n"
	p.Words("terminal", "send", "dev", "7f00", "--text", "-", "Enter", "ctrl+c").OK()
	p.Words("terminal", "send", "dev", "7f00", "--columns", "90", "--rows", "20").OK()
	asked := w.Asked()
	if len(asked) != 2 || asked[0].Input.Text != "from a file" || !slices.Equal(asked[0].Input.Keys, []string{"Enter", "ctrl+c"}) ||
		asked[1].Input.Rows != 20 {
		t.Errorf("%+v", asked)
	}
	w.Reply = api.Reply{OK: true, Screen: &api.Screen{Scrollback: []string{"gone"}, Lines: []string{"a\x1b[2J", "", "b", "", ""}}}
	if r := p.Run("terminal read dev 7f00 --full").OK(); r.Out != "gone\na\\x1b[2J\n\nb\n" {
		t.Errorf("%q", r.Out)
	}
	if asked := w.Asked(); !asked[0].Full {
		t.Errorf("%+v", asked)
	}
	var screen api.Screen
	if p.Run("terminal read dev 7f00 --json").OK().JSON(&screen); len(screen.Lines) != 5 {
		t.Errorf("%+v", screen)
	}
	p.Refusals(map[string]string{"terminal send dev": "takes a workspace, an app and keys", "terminal read dev": "an app",
		"terminal start dev --odd": "--odd"})
}

// TestAttach: the one terminal that runs is meant where none is named, and without a terminal
// here nothing is attached.
func TestAttach(t *testing.T) {
	p := clitest.New(t, Commands())
	w := p.Desk("ab12", "dev")
	one, two := api.App{ID: "1", Kind: api.AppTerminal, Running: true}, api.App{ID: "2", Kind: api.AppTerminal, Running: true}
	for _, c := range []struct {
		apps []api.App
		want string
	}{
		{nil, "no terminal runs in dev"},
		{[]api.App{{ID: "1", Kind: api.AppTerminal}, {ID: "2", Kind: api.AppExec, Running: true}}, "no terminal runs in dev"},
		{[]api.App{one, two}, `several terminals run in dev: ["1" "2"]`},
		{[]api.App{one}, "attach needs a terminal here"},
	} {
		w.Apps = c.apps
		p.Run("attach dev").Fails(api.ExitOurs, c.want)
	}
}

// TestSandboxIsHeld: what is wrong with a policy is told on the descriptor for the result as
// well, and no command is started.
func TestSandboxIsHeld(t *testing.T) {
	p := clitest.New(t, Commands())
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	defer to.Close()
	result, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	if _, err := to.WriteString(`{"version": 99}`); err != nil {
		t.Fatal(err)
	}
	to.Close()
	made := filepath.Join(p.Home, "made")
	var own [2]int // which the command closes
	for i, f := range []*os.File{from, result} {
		if own[i], err = syscall.Dup(int(f.Fd())); err != nil {
			t.Fatal(err)
		}
	}
	line := fmt.Sprintf("sandbox --policy-fd %d --result-fd %d -- touch %s", own[0], own[1], made)
	p.Run(line).Fails(api.ExitOurs, fmt.Sprint("of descriptor ", own[0]), "version")
	text, err := os.ReadFile(result.Name())
	if err != nil || !strings.HasPrefix(string(text), "{") || !strings.Contains(string(text), "version") ||
		strings.Count(string(text), "\n") != 1 {
		t.Errorf("the result: %q, %v", text, err)
	}
	if _, err := os.Lstat(made); err == nil {
		t.Error("the command was started")
	}
}
