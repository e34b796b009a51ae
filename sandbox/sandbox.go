// Package sandbox runs commands behind carrel's walls from a Go program: a
// policy is a value, a run is a call, and what was refused comes back as data.
// It is what `carrel sandbox` does, with the same policy and the same walls.
//
// The walls are held by a process of their own: they take over the signals, the terminal and the
// standard descriptors of the one that holds them. That process is the program itself, started
// again, so that nothing has to be installed: call [Init] first in main. Or it is a carrel that
// is named by its path in [Cmd.Program].
//
// It imports of this module what it takes to run a command, and no surface.
// Linux only; elsewhere every run is refused.
package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"carrel/sandbox/policyfile"
)

// Policy is what a command may do; see package policyfile.
type Policy = policyfile.Policy

// Rule is one rule about files of a policy.
type Rule = policyfile.Rule

// grace is how long a command has to end after its context is done.
const grace = 5 * time.Second

// Cmd is one command to run.
type Cmd struct {
	Policy *Policy
	Args   []string // the program, looked up in the policy's PATH, and its arguments

	// Env is the environment that the policy passes variables from; nil is the
	// process's own.
	Env []string

	// The command's standard descriptors, as package os/exec has them; but a
	// reader that is no file is not waited for when the command has ended.
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	// Program is the absolute path of a carrel; "" is this program itself, which
	// then has to call Init.
	Program string
}

// Result is how a command ended.
type Result struct {
	Exit     int           `json:"exit"`             // as a shell would see it: 128+N for signal N, 124 for the time limit
	Signal   string        `json:"signal,omitempty"` // the name of the signal that ended it
	Duration time.Duration `json:"duration_ns"`
	Denials  []Denial      `json:"denials"`
	Notes    []string      `json:"notes,omitempty"`
}

// Denial is one refusal, of the start or of something that the command tried.
// Subject and Message may hold bytes that the command chose.
type Denial struct {
	Code      string `json:"code"` // stable; docs/sandbox.md lists them
	Message   string `json:"message"`
	Operation string `json:"operation"`
	Subject   string `json:"subject"`
	Rule      string `json:"rule"`
	Source    string `json:"source"`
	Hint      string `json:"hint,omitempty"`
}

// Error is a run that did not come to its command's end: the policy means
// nothing or cannot be held here, the command was not found, or carrel went
// wrong. The result that comes with it has the status 125, 126 or 127.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

// Run runs args under the policy, with no input and its output thrown away.
func Run(ctx context.Context, p *Policy, args ...string) (*Result, error) {
	return (&Cmd{Policy: p, Args: args}).Run(ctx)
}

// Run runs the command and waits for its end. A command that ends with another
// status than 0, or by a signal, is no error. Where ctx ends before it does,
// the command is asked to end and some seconds later made to, with everything
// that it has started; the error is then that of ctx. The result is nil only
// where nothing was started.
func (c *Cmd) Run(ctx context.Context) (*Result, error) {
	policy, err := c.policy()
	if err != nil {
		return nil, err
	}
	cmd, err := c.command(ctx)
	if err != nil {
		return nil, err
	}
	policyRead, policyWrite, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("handing the policy over: %w", err)
	}
	resultRead, resultWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("taking the result: %w", err), policyRead.Close(), policyWrite.Close())
	}
	cmd.ExtraFiles = []*os.File{policyRead, resultWrite} // policyFD, resultFD
	input, err := c.input(cmd)
	if err == nil {
		err = cmd.Start()
	}
	defer input()
	policyRead.Close()
	resultWrite.Close()
	go func() { // it may be larger than a pipe
		_, _ = policyWrite.Write(policy)
		policyWrite.Close()
	}()
	if err != nil {
		resultRead.Close()
		return nil, fmt.Errorf("starting the supervisor: %w", err)
	}
	told := make(chan []byte, 1)
	go func() {
		data, _ := io.ReadAll(io.LimitReader(resultRead, maxResult))
		resultRead.Close()
		told <- data
	}()
	waitErr := cmd.Wait()
	return outcome(ctx, <-told, waitErr)
}

// maxResult bounds what is read of a result.
const maxResult = 16 << 20

// policy is the text that the supervisor reads; it checks it again.
func (c *Cmd) policy() ([]byte, error) {
	switch {
	case c.Policy == nil:
		return nil, errors.New("no policy given")
	case len(c.Args) == 0 || c.Args[0] == "":
		return nil, errors.New("no command given")
	}
	for _, a := range c.Args {
		if strings.IndexByte(a, 0) >= 0 {
			return nil, fmt.Errorf("the argument %q holds a NUL byte", a)
		}
	}
	if err := c.Policy.Check(); err != nil {
		return nil, fmt.Errorf("the policy: %w", err)
	}
	return json.Marshal(c.Policy)
}

func (c *Cmd) command(ctx context.Context) (*exec.Cmd, error) {
	var cmd *exec.Cmd
	switch {
	case c.Program == "" && !called:
		return nil, errors.New("sandbox.Init was not called: call it first in main, or name a carrel in Cmd.Program")
	case c.Program == "":
		cmd = exec.CommandContext(ctx, "/proc/self/exe")
		cmd.Args = append([]string{childArg0}, c.Args...)
	case !filepath.IsAbs(c.Program):
		return nil, fmt.Errorf("Cmd.Program %q is not an absolute path", c.Program)
	default:
		cmd = exec.CommandContext(ctx, c.Program)
		cmd.Args = append([]string{"carrel", "sandbox", fmt.Sprintf("--policy-fd=%d", policyFD), fmt.Sprintf("--result-fd=%d", resultFD), "--"}, c.Args...)
	}
	cmd.Env, cmd.Stdout, cmd.Stderr = c.Env, c.Stdout, c.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	return cmd, nil
}

// input gives the command its standard input. What is no file is copied through
// a pipe of ours, so that a reader that never ends does not outlive the run:
// nobody waits for it. done is called when the run is over.
func (c *Cmd) input(cmd *exec.Cmd) (done func(), err error) {
	if _, file := c.Stdin.(*os.File); file || c.Stdin == nil {
		cmd.Stdin = c.Stdin
		return func() {}, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return func() {}, fmt.Errorf("making the standard input: %w", err)
	}
	cmd.Stdin = r
	go func() {
		_, _ = io.Copy(w, c.Stdin) // to its end, or the command's
		w.Close()
	}()
	return func() { r.Close(); w.Close() }, nil
}

// outcome reads what the supervisor told.
func outcome(ctx context.Context, told []byte, waitErr error) (*Result, error) {
	var r struct {
		Result
		Error any `json:"error"`
	}
	if err := json.Unmarshal(bytes.TrimSpace(told), &r); err != nil {
		if ctx.Err() != nil {
			return &Result{Exit: 128 + int(syscall.SIGKILL), Signal: "SIGKILL"}, ctx.Err()
		}
		return nil, &Error{fmt.Sprintf("the supervisor ended without a result: %v", waitErr)}
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return &r.Result, ctx.Err()
	case r.Error != nil:
		return &r.Result, &Error{fmt.Sprint(r.Error)}
	case waitErr != nil && !errors.As(waitErr, &exit):
		return &r.Result, waitErr // an output that took nothing more, for example
	}
	return &r.Result, nil
}
