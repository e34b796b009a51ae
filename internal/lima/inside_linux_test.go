package lima

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// insideMachine raises a pretended machine where Carrel works, with programs that are scripts.
func insideMachine(t *testing.T) *Carrel {
	t.Helper()
	machineOrSkip(t)
	p, err := fakeProgram(t)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	t.Cleanup(func() { _, _ = p.Prune(ctx, func(Machine) bool { return false }) })
	dir, project := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"carrel": "#!/bin/sh\necho \"$@\" in $(pwd) \"${CARREL_WORKSPACE-none}\"\n" +
			"cat /etc/carrel/config.yaml ~/.config/carrel/config.yaml\nexit 7\n",
		"carrel-stage": "a stage\n",
	} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := testSpec()
	s.Network, s.Project = NetworkOpen, project
	m, err := p.Raise(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	return &Carrel{Program: p, Machine: m, Project: project, Programs: func(string) (string, error) { return dir, nil }}
}

// TestCarrelInside: the configuration and the programs are the machine's when it is ready, and a
// call is done there with its own status.
func TestCarrelInside(t *testing.T) {
	c := insideMachine(t)
	var told []string
	c.Program.Tell = func(text string) { told = append(told, text) }
	call := func() string {
		t.Helper()
		cmd := c.Command(context.Background(), c.Project, "acall", []string{"run", "--", "a b"})
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 7 {
			t.Errorf("%v: %s", err, out)
		}
		return string(out)
	}
	for _, step := range []struct{ user, operator, want, lacks string }{
		{"network: closed\n", "", "run -- a b in " + c.Project + " none\n", "deny"},
		{"network: open\n", "deny: [/x]\n", "deny: [/x]\nnetwork: open\n", "closed"},
		{"", "", "a b", "network"},
	} {
		c.User, c.Operator = []byte(step.user), nil
		if step.operator != "" {
			c.Operator = []byte(step.operator)
		}
		if err := c.Ready(context.Background()); err != nil {
			t.Fatal(err)
		}
		if out := call(); !strings.Contains(out, step.want) || strings.Contains(out, step.lacks) {
			t.Errorf("%+v: %s", step, out)
		}
	}
	if len(told) != 1 {
		t.Errorf("the programs were put there %q", told)
	}
	dir, _ := c.Programs("")
	if err := os.WriteFile(dir+"/carrel-stage", []byte("another\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := c.Ready(context.Background()); err != nil || len(told) != 2 {
		t.Errorf("another program: %v, %q", err, told)
	}
	if err := os.Remove(dir + "/carrel"); err != nil {
		t.Fatal(err)
	}
	if err := c.Ready(context.Background()); err == nil || !strings.Contains(err.Error(), "there is no carrel for the machine") {
		t.Errorf("without a program: %v", err)
	}
	c.Project += "/elsewhere"
	if err := c.Ready(context.Background()); err == nil || !strings.Contains(err.Error(), "is not there in the machine") {
		t.Errorf("a project that is not mounted: %v", err)
	}
}

// TestSignalOfACall: a signal reaches the carrel of its call, and of one that is over none.
func TestSignalOfACall(t *testing.T) {
	c := insideMachine(t)
	dir, _ := c.Programs("")
	if err := os.WriteFile(dir+"/carrel", []byte("#!/bin/sh\ntrap 'exit 9' TERM\necho up\nwhile :; do sleep 0.02; done\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := c.Ready(context.Background()); err != nil {
		t.Fatal(err)
	}
	calls := map[string]*exec.Cmd{}
	for _, call := range []string{"one", "two"} {
		cmd := c.Command(context.Background(), c.Project, call, []string{"run"})
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if n, err := out.Read(make([]byte, 3)); n != 3 {
			t.Fatal(n, err)
		}
		calls[call] = cmd
	}
	for _, call := range []string{"one", "over", "two"} {
		if err := c.Signal(context.Background(), call, "TERM"); err != nil {
			t.Errorf("%s: %v", call, err)
		}
		if cmd := calls[call]; cmd != nil {
			if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 9 {
				t.Errorf("%s: %v", call, err)
			}
		}
	}
}
