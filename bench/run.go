package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// patience is how long one run may take.
const patience = 60 * time.Second

// lasting is the context of all commands but those that clean up.
var lasting, endCommands = context.WithCancel(context.Background())

// timed runs a command to its end and gives the time in milliseconds. All three
// standard descriptors are /dev/null: pipes and files would be measured too.
func timed(dir string, env, argv []string) (float64, error) {
	ctx, cancel := context.WithTimeout(lasting, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	start := time.Now()
	err := cmd.Run()
	return float64(time.Since(start)) / float64(time.Millisecond), err
}

// once runs a command outside the measurement; its error says what the command
// wrote.
func once(dir string, env, argv []string) error {
	_, err := output(dir, env, argv)
	return err
}

// output gives what a command writes to its standard output.
func output(dir string, env, argv []string) (string, error) {
	return outputWithin(patience, dir, env, argv)
}

func outputWithin(limit time.Duration, dir string, env, argv []string) (string, error) {
	out, _, err := finished(lasting, limit, dir, env, argv)
	return out, err
}

// clocked is output with the times of the run. Its CPU time is that of all that
// the command waited for.
func clocked(dir string, env, argv []string) (took, string, error) {
	start := time.Now()
	out, state, err := finished(lasting, patience, dir, env, argv)
	if err != nil {
		return took{}, "", err
	}
	return took{whole: millis(time.Since(start)), cpu: millis(state.UserTime() + state.SystemTime())}, out, nil
}

func finished(ctx context.Context, limit time.Duration, dir string, env, argv []string) (string, *os.ProcessState, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	cmd.WaitDelay = time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w: %s", argv[0], err, firstLine(said.String()+string(out)))
	}
	return string(out), cmd.ProcessState, nil
}

// started runs a command in the background; stop ends it and waits.
func started(dir string, env, argv []string) (pid int, stop func(), err error) {
	ctx, cancel := context.WithTimeout(lasting, patience)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		cancel()
		return 0, nil, err
	}
	return cmd.Process.Pid, func() { _ = cmd.Wait(); cancel() }, nil
}

func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "npm warn") {
			return line[:min(len(line), 160)]
		}
	}
	return ""
}

// errMissing is what a contender that is not installed has for a result.
var errMissing = errors.New("not installed")
