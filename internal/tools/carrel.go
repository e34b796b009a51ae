package tools

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"carrel/internal/api"
)

// Carrel is the command line, as a program that ends with the call: what a front end
// does by it cannot mean something else than what a person types.
type Carrel struct {
	Program string // this program
	Dir     string // that it runs in; "" is our own
	Environ []string
	Ceiling Ceiling
}

// Ceiling is the most that anything asked for may be given. It was read once: what
// becomes of its file counts no more. The zero value is none.
type Ceiling struct {
	Hash     string   // of what it means
	Variable string   // of the environment, with which what is started is told where it is
	File     *os.File // the content, sealed; handed to what is started
}

// Arg0 is the name by which the program knows that its errors are for a program: each is
// one line of JSON.
const Arg0 = "carrel-json"

// CodeFailed is the code of what is no refusal, but went wrong.
const CodeFailed = "failed"

// CodeArguments is the code of a refusal of what was asked for with a call.
const CodeArguments = "arguments"

// JSON decodes what it prints into out, which may be nil; with an error that may be what
// stands against it. It ends when ctx does.
func (c Carrel) JSON(ctx context.Context, input []byte, out any, args ...string) error {
	printed, err := c.Raw(ctx, input, args...)
	if out == nil || len(bytes.TrimSpace(printed)) == 0 {
		return err // nothing is what some say of nothing
	}
	if err != nil {
		_ = json.Unmarshal(printed, out)
		return err
	}
	if err := json.Unmarshal(printed, out); err != nil {
		return fmt.Errorf("carrel %s: what it printed is not understood: %w", args[0], err)
	}
	return nil
}

// Raw gives what it prints, also with an error. A refusal is an *api.Denial.
func (c Carrel) Raw(ctx context.Context, input []byte, args ...string) (json.RawMessage, error) {
	if slices.ContainsFunc(args, func(a string) bool { return strings.ContainsRune(a, 0) }) {
		return nil, &api.Denial{Code: CodeArguments, Operation: args[0], Message: "an argument has a zero byte", Rule: "parameters", Source: "built in"}
	}
	cmd := exec.CommandContext(ctx, c.Program, args...)
	cmd.Args[0] = Arg0
	cmd.Dir, cmd.Env = c.Dir, c.Environ
	if c.Ceiling.File != nil {
		cmd.ExtraFiles = []*os.File{c.Ceiling.File} // the first of them is descriptor 3
		cmd.Env = append(slices.Clone(cmd.Env), c.Ceiling.Variable+"=3")
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = waitTime
	var stdout, stderr limited
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if input != nil {
		cmd.Stdin = bytes.NewReader(input)
	}
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		if d := lastProblem(stderr.kept.Bytes()); d != nil {
			return stdout.kept.Bytes(), d
		}
		if said := strings.TrimSpace(stderr.kept.String()); said != "" {
			return stdout.kept.Bytes(), fmt.Errorf("carrel %s: %w: %s", args[0], err, said)
		}
		return stdout.kept.Bytes(), fmt.Errorf("carrel %s: %w", args[0], err)
	}
	if stdout.over {
		return stdout.kept.Bytes(), fmt.Errorf("carrel %s gave more than %d bytes", args[0], maxPrinted)
	}
	return stdout.kept.Bytes(), nil
}

// Bounds of a command of ours.
const (
	maxPrinted = 4 << 20
	waitTime   = 5 * time.Second // to end after it was asked to
)

// limited keeps the first bytes. It embeds no buffer: package os/exec would copy by the buffer's
// ReadFrom, past Write.
type limited struct {
	kept bytes.Buffer
	over bool
}

func (l *limited) Write(b []byte) (int, error) {
	if room := maxPrinted - l.kept.Len(); len(b) > room {
		l.over = true
		l.kept.Write(b[:max(0, room)])
		return len(b), nil
	}
	return l.kept.Write(b)
}

// lastProblem reads the last line that is a refusal.
func lastProblem(said []byte) *api.Denial {
	lines := bytes.Split(bytes.TrimSpace(said), []byte("\n"))
	for _, line := range slices.Backward(lines) {
		var d api.Denial
		if len(line) > 0 && line[0] == '{' && json.Unmarshal(line, &d) == nil && d.Message != "" {
			return &d
		}
	}
	return nil
}

// OwnName is a name for a workspace that only one front end uses, of one that says what
// it is of, and a mark that says which kind of front end.
func OwnName(of, mark string) string {
	var b [3]byte
	_, _ = rand.Read(b[:])
	return of[:min(len(of), maxOwnName)] + mark + hex.EncodeToString(b[:])
}

// maxOwnName leaves room for the rest of the name.
const maxOwnName = 40
