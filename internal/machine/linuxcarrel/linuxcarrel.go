// Package linuxcarrel has a command line of carrel done by Carrel's program for Linux, in a machine
// that has the project. Where this system has no walls, that is how it gets them; on Linux it is
// there for those who ask. The history, the desktop and the state of agents are the machine's then.
package linuxcarrel

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"carrel/internal/advice"
	"carrel/internal/config"
	"carrel/internal/lima"
	"carrel/internal/machine"
)

// Call is a command line of carrel's, without the program's name.
type Call struct {
	Args         []string
	Project, Cwd string // canonical
	ID           string // of the project
	Settings     *config.Lima
	Files        []config.FileStatus
	In, Out, Err *os.File
}

// here are commands that are about this host and the machines on it.
var here = strings.Fields(`help completion __complete __completeNoDesc version config doctor lima container install-dev`)

// Here says that a command is not one that a machine can do.
func Here(args []string) bool {
	return len(args) == 0 || args[0] == "" || strings.HasPrefix(args[0], "-") || slices.Contains(here, args[0])
}

// Do makes the machine of the project where there is none, and has it do the call. It gives the
// call's exit status.
func (c *Call) Do(ctx context.Context, p *lima.Program) (status int, err error) {
	if Here(c.Args) {
		return 0, fmt.Errorf("%q is about this host, and not for the machine", c.Args)
	}
	spec, err := machine.SpecInside(c.Settings, c.Project, c.ID)
	if err != nil {
		return 0, err
	}
	inside := &lima.Carrel{Program: p, Project: c.Project, Programs: programs}
	if inside.User, inside.Operator, err = settings(c.Files); err != nil {
		return 0, err
	}
	if inside.Machine, err = p.Raise(ctx, spec); err != nil {
		return 0, err
	}
	if err := inside.Ready(ctx); err != nil {
		return 0, err
	}
	return c.run(inside)
}

// settings are the user's and the operator's files as they count in a machine. What a ceiling's
// file says would not hold there.
func settings(files []config.FileStatus) (user, operator []byte, err error) {
	for _, f := range files {
		if !f.Present || f.Kind == config.KindProject {
			continue
		}
		if f.Kind == config.KindCeiling {
			return nil, nil, &advice.Error{Err: fmt.Errorf("the ceiling %s is not carried into the machine", f.Path),
				Hint: "run it without a ceiling"}
		}
		text, err := os.ReadFile(f.Path)
		if err == nil {
			text, err = config.Inside(text)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		if f.Kind == config.KindOperator {
			operator = text
		} else {
			user = text
		}
	}
	return user, operator, nil
}

// programs gives where the programs for Linux are: beside this one where they are of this system,
// and in linux-ARCH there.
func programs(arch string) (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("looking for this program: %w", err)
	}
	if runtime.GOOS == "linux" && runtime.GOARCH == arch {
		return filepath.Dir(own), nil
	}
	return filepath.Join(filepath.Dir(own), "linux-"+arch), nil
}

// passed are the signals that a call gets of those that come here.
var passed = map[os.Signal]string{syscall.SIGINT: "INT", syscall.SIGTERM: "TERM", syscall.SIGHUP: "HUP", syscall.SIGQUIT: "QUIT"}

// run starts the call, with the streams of this process. A terminal that limactl has passes keys
// on; a signal that comes here goes to the call by a second way in.
func (c *Call) run(inside *lima.Carrel) (status int, err error) {
	call := rand.Text()
	cmd := inside.Command(context.Background(), c.Cwd, call, withoutBackend(c.Args))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.In, c.Out, c.Err
	signals, ended := make(chan os.Signal, 8), make(chan struct{})
	for s := range passed {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	go func() {
		for {
			select {
			case s := <-signals:
				if err := inside.Signal(context.Background(), call, passed[s]); err != nil {
					fmt.Fprintf(c.Err, "carrel: passing SIG%s on: %v\n", passed[s], err)
				}
			case <-ended:
				return
			}
		}
	}()
	err = cmd.Wait()
	close(ended)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() >= 0 {
		return exit.ExitCode(), nil
	}
	if err != nil { // limactl was ended, and what it started may live
		err = errors.Join(err, inside.Signal(context.Background(), call, "TERM"))
	}
	return 0, err
}

// withoutBackend leaves out the flag that leads into the machine, of the flags before "--": what
// follows is a command's. Where there is no "--" it may be the command's, and stays.
func withoutBackend(args []string) []string {
	end := slices.Index(args, "--")
	if end < 0 {
		return args
	}
	own := slices.DeleteFunc(slices.Clone(args[:end]), func(a string) bool { return a == "--backend=lima" })
	if i := slices.Index(own, "--backend"); i >= 0 && i+1 < len(own) && own[i+1] == "lima" {
		own = slices.Delete(own, i, i+2)
	}
	return append(own, args[end:]...)
}
