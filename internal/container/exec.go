package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"time"

	"carrel/internal/advice"
	"carrel/internal/capped"
)

const (
	askTime   = 30 * time.Second // for what an engine knows without work
	endGrace  = 5 * time.Second  // between the request to end and the kill
	maxAnswer = 8 << 20          // bytes of one answer
	maxTail   = 8 << 10          // bytes of errors that are kept, the last ones
)

// Call is one start of the engine's program.
type Call struct {
	Args  []string
	Stdin io.Reader
	Out   io.Writer     // gets standard output as it comes; nil: [Engine.Do] gives it back
	Err   io.Writer     // gets errors as they come, beside what an error keeps of them
	Time  time.Duration // 0 is 30 s
	Fetch bool          // it may reach a registry: proxies of the person are passed
}

// Do starts the engine, waits for it and gives its output.
func (e *Engine) Do(ctx context.Context, c Call) ([]byte, error) {
	limit := c.Time
	if limit == 0 {
		limit = askTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, e.Program, c.Args...)
	cmd.Env, cmd.Dir, cmd.Stdin = e.Env, "/", c.Stdin
	if c.Fetch {
		cmd.Env = slices.Concat(e.Env, e.fetchEnv)
	}
	out, tail := &capped.Buffer{Most: maxAnswer, Over: cancel}, &tail{}
	cmd.Stdout, cmd.Stderr = io.Writer(out), io.Writer(tail)
	if c.Out != nil {
		cmd.Stdout = c.Out
	}
	if c.Err != nil {
		cmd.Stderr = io.MultiWriter(tail, c.Err)
	}
	ends(cmd)
	cmd.WaitDelay = endGrace
	err := cmd.Run()
	what := e.Kind + " " + c.Args[0]
	switch {
	case out.Full():
		return nil, fmt.Errorf("%s said more than %d bytes", what, maxAnswer)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, &advice.Error{Err: fmt.Errorf("%s took longer than %s", what, limit), Hint: "see whether `" + e.Kind + " info` answers"}
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", what, ctx.Err())
	case err != nil:
		return nil, e.Explain(what, err, tail.text())
	}
	return out.Bytes(), nil
}

// tail keeps the last bytes that are written.
type tail struct{ kept []byte }

func (t *tail) Write(data []byte) (int, error) {
	t.kept = append(t.kept, data...)
	if over := len(t.kept) - maxTail; over > 0 {
		t.kept = slices.Delete(t.kept, 0, over)
	}
	return len(data), nil
}

func (t *tail) text() string { return string(bytes.ToValidUTF8(t.kept, []byte("?"))) }
