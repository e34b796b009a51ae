package decisioncmd

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/registry"
	"carrel/internal/supervisor"

	"github.com/spf13/cobra"

	"golang.org/x/sys/unix"
)

// TestMain makes the test binary a program with the commands of this package where it is
// started as carrel: only a process of its own can have a terminal of its own.
func TestMain(m *testing.M) {
	if os.Args[0] != "carrel" {
		os.Exit(m.Run())
	}
	env := &cmdenv.Env{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Args: os.Args[1:]}
	root := &cobra.Command{Use: "carrel", SilenceErrors: true, SilenceUsage: true}
	for _, c := range Commands() {
		root.AddCommand(c.Make(env))
	}
	root.SetArgs(env.Args)
	if err := root.Execute(); err != nil {
		fmt.Fprintf(os.Stderr, "carrel: %s\n", err)
		os.Exit(api.ExitOurs)
	}
	os.Exit(env.Status)
}

// TestApproveAtATerminal: the whole way of an approval, with a person who
// types the id, types something else, or is not there.
func TestApproveAtATerminal(t *testing.T) {
	if os.Getenv("CARREL") != "" {
		t.Skip("the tests themselves run behind walls")
	}
	runtime := filepath.Join(t.TempDir(), "rt")
	if err := os.Mkdir(runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := supervisor.Serve(supervisor.Config{ID: "ab12", Dirs: registry.Dirs(runtime, "")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range []struct {
		name    string
		typed   func(id string) string
		granted bool
		says    string
	}{
		{"the id", func(id string) string { return id }, true, "approved "},
		{"something else", func(string) string { return "yes" }, false, "not the id"},
		{"nothing", func(string) string { return "" }, false, "not the id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			answer := make(chan bool)
			go func() {
				answer <- s.Ask(ctx, api.Approval{Operation: "write", Subject: "/p/\x1b[2Jevil\u202e"}, time.Now().Add(20*time.Second))
			}()
			listed := &strings.Builder{}
			env := &cmdenv.Env{Out: listed, Err: listed, Environ: []string{"XDG_RUNTIME_DIR=" + runtime}}
			var id string
			for id == "" && ctx.Err() == nil {
				if list, _, err := env.Caller().Waiting(ctx); err == nil && len(list) == 1 {
					id = list[0].ID
				}
			}
			shown := atTerminal(t, ctx, runtime, c.typed(id), "approve", id[:5])
			if !strings.Contains(shown, c.says) || !strings.Contains(shown, `\x1b[2Jevil\u202e`) || strings.ContainsAny(shown, "\x1b\u202e") {
				t.Errorf("%q", shown)
			}
			if !c.granted {
				if _, err := env.Caller().Deny(ctx, id); err != nil {
					t.Error(err)
				}
			}
			if got := <-answer; got != c.granted {
				t.Errorf("granted: %t", got)
			}
		})
	}
}

// atTerminal runs the program at a pseudoterminal, types a line when it asks,
// and gives all that it showed.
func atTerminal(t *testing.T, ctx context.Context, runtime, typed string, args ...string) string {
	t.Helper()
	near, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	if err := unix.IoctlSetPointerInt(int(near.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(near.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	far, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args = append([]string{"carrel"}, args...)
	cmd.Env = []string{"XDG_RUNTIME_DIR=" + runtime}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = far, far, far
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	far.Close()
	var shown strings.Builder
	buf := make([]byte, 4096)
	for asked := false; ; {
		n, err := near.Read(buf)
		shown.Write(buf[:n])
		if !asked && strings.Contains(shown.String(), "leave it: ") {
			asked = true
			if _, err := near.WriteString(typed + "\n"); err != nil {
				t.Error(err)
			}
		}
		if err != nil { // the far end is closed: it has ended
			break
		}
	}
	_ = cmd.Wait()
	return shown.String()
}
