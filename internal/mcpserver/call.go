package mcpserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"carrel/internal/api"
	"carrel/internal/supervisor"
	"carrel/internal/workspace"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// call is one call of a tool.
type call struct {
	server *Server
	tool   *Tool
	req    *sdk.CallToolRequest
}

// named is the workspace that a call means.
func (c *call) named(name string) (string, error) {
	if name == "" {
		return c.server.opts.Workspace, nil
	}
	return name, workspace.CheckDeskName(name)
}

// running gives the workspace of a name, which has to run.
func (c *call) running(name string) (supervisor.Entry, error) {
	name, err := c.named(name)
	if err != nil {
		return supervisor.Entry{}, err
	}
	e, ok, err := c.server.find(name)
	if err == nil && !ok {
		err = &api.Denial{Code: codeNotRunning, Operation: c.tool.Name, Subject: name, Message: fmt.Sprintf("workspace %q does not run", name), Rule: "registry", Source: "built in", Hint: "workspace_start starts one; workspace_list shows those that there are"}
	}
	return e, err
}

const codeNotRunning = "not-running"

// desk gives the workspace of a name; the server's own is started where it does not run.
func (c *call) desk(ctx context.Context, name string) (supervisor.Entry, error) {
	name, err := c.named(name)
	if err != nil || name != c.server.opts.Workspace {
		if err == nil {
			return c.running(name)
		}
		return supervisor.Entry{}, err
	}
	return c.server.ensure(ctx)
}

// ensure starts the server's workspace where it does not run.
func (s *Server) ensure(ctx context.Context) (supervisor.Entry, error) {
	name := s.opts.Workspace
	if e, ok, err := s.find(name); err != nil || ok {
		return e, err // a running one waits for no other that starts
	}
	if err := s.startAlone(ctx); err != nil {
		return supervisor.Entry{}, err
	}
	defer s.startNext()
	if e, ok, err := s.find(name); err != nil || ok {
		return e, err
	}
	if err := s.start(ctx, nil, s.opts.Display, name, append([]string{"start", "--json"}, s.opts.Start...)); err != nil {
		var d *api.Denial
		if errors.As(err, &d) && d.Code == api.CodeExists { // somebody was faster: it is used as it would be later
			if e, ok, err := s.find(name); err != nil || ok {
				return e, err
			}
		}
		return supervisor.Entry{}, err
	}
	s.setStarted()
	go s.sweep(context.WithoutCancel(ctx))
	e, ok, err := s.find(name)
	if err == nil && !ok {
		err = fmt.Errorf("workspace %q was started, and has ended", name)
	}
	return e, err
}

// start runs `carrel start`, with a display where the ceiling allows one.
func (s *Server) start(ctx context.Context, out any, display bool, name string, args []string) error {
	if s.own && name == s.opts.Workspace { // also when nobody is left to end it
		args = append(slices.Clone(args), "--ends-with="+strconv.Itoa(os.Getpid()))
	}
	if display {
		err := s.carrel(ctx, nil, out, append(slices.Clone(args), "--display=virtual", "--", name)...)
		var d *api.Denial
		if !errors.As(err, &d) || d.Code != api.CodeCeiling || d.Rule != "display" {
			return err
		}
	}
	return s.carrel(ctx, nil, out, append(args, "--", name)...)
}

// carrel runs this program's command line. Its output is decoded into out, which may be
// nil. It ends when ctx does.
func (s *Server) carrel(ctx context.Context, input []byte, out any, args ...string) error {
	var printed json.RawMessage
	if err := s.carrelRaw(ctx, input, &printed, args...); err != nil || out == nil || len(bytes.TrimSpace(printed)) == 0 {
		return err // nothing is what some say of nothing
	}
	if err := json.Unmarshal(printed, out); err != nil {
		return fmt.Errorf("carrel %s: what it printed is not understood: %w", args[0], err)
	}
	return nil
}

// Arg0 is the name by which the program knows that its errors are for a program: each is
// one line of JSON.
const Arg0 = "carrel-json"

// carrelRaw gives what the command line prints.
func (s *Server) carrelRaw(ctx context.Context, input []byte, out *json.RawMessage, args ...string) error {
	if slices.ContainsFunc(args, func(a string) bool { return strings.ContainsRune(a, 0) }) {
		return &api.Denial{Code: codeArguments, Operation: args[0], Message: "an argument has a zero byte", Rule: "parameters", Source: "built in"}
	}
	cmd := exec.CommandContext(ctx, s.opts.Program, args...)
	cmd.Args[0] = Arg0
	cmd.Dir, cmd.Env = s.opts.Project, s.opts.Environ
	if c := s.opts.Ceiling; c.File != nil {
		cmd.ExtraFiles = []*os.File{c.File} // the first of them is descriptor 3
		cmd.Env = append(slices.Clone(cmd.Env), c.Variable+"=3")
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = endTime
	var stdout, stderr limited
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if input != nil {
		cmd.Stdin = bytes.NewReader(input)
	}
	err := cmd.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		if d := lastProblem(stderr.Bytes()); d != nil {
			return d
		}
		return fmt.Errorf("carrel %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	if stdout.over {
		return fmt.Errorf("carrel %s gave more than %d bytes", args[0], maxOutput)
	}
	*out = stdout.Bytes()
	return nil
}

// Bounds of a command of ours.
const (
	maxOutput = 4 << 20
	endTime   = 5 * time.Second // to end after it was asked to
)

// limited keeps the first bytes.
type limited struct {
	bytes.Buffer
	over bool
}

func (l *limited) Write(b []byte) (int, error) {
	if room := maxOutput - l.Len(); len(b) > room {
		l.over = true
		l.Buffer.Write(b[:max(0, room)])
		return len(b), nil
	}
	return l.Buffer.Write(b)
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

// ownName is the name of a workspace that only one server uses.
func ownName(project string) string {
	var b [3]byte
	_, _ = rand.Read(b[:])
	name := workspace.DeskName(project)
	return name[:min(len(name), maxOwnName)] + ownMark + hex.EncodeToString(b[:])
}

const ownMark = "-mcp-"

// isOwnName says whether a name is one that ownName made.
func isOwnName(name string) bool {
	at := strings.LastIndex(name, ownMark)
	if at < 0 {
		return false
	}
	b, err := hex.DecodeString(name[at+len(ownMark):])
	return err == nil && len(b) == 3
}

// maxOwnName leaves room for the rest of the name.
const maxOwnName = 40

// blocked says whether a call changes something that a workspace under control keeps.
func (t *Tool) blocked(arguments json.RawMessage) bool {
	var said struct {
		DryRun bool   `json:"dry_run"`
		Output string `json:"output_path"`
	}
	_ = json.Unmarshal(arguments, &said)
	switch t.Control {
	case WhenActive:
		return true
	case OrDryRun:
		return !said.DryRun
	case OrInside:
		return !said.DryRun && said.Output != ""
	}
	return false
}

// guard refuses what the control of the workspace does not allow, before anything is
// done. Its supervisor looks again at what reaches it; this is for what does not.
func (c *call) guard(ctx context.Context, arguments json.RawMessage) error {
	var said struct {
		Name string `json:"name"`
		ID   string `json:"id"`
	}
	_ = json.Unmarshal(arguments, &said) // what is wrong with them, decode says
	if c.tool.Set == setCompat && c.tool.In.Properties["id"] != nil {
		said.Name = said.ID // theirs call it so
	}
	if !c.tool.blocked(arguments) {
		return nil
	}
	name, err := c.named(said.Name)
	if err != nil {
		return nil // decode says it
	}
	for _, name := range slices.Compact([]string{name, c.server.opts.Workspace}) {
		e, ok, err := c.server.find(name)
		if err != nil {
			continue
		}
		if !ok {
			if err := c.keptControl(ctx, said.Name, name); err != nil {
				return err
			}
			continue
		}
		r, err := e.Call(ctx, api.Request{Op: api.OpStatus})
		if err != nil && hasEnded(ctx, e) {
			continue // and what is under no control any more
		}
		if err != nil {
			return fmt.Errorf("asking workspace %s for its control: %w", name, err)
		}
		if m := r.Status.Control; m != nil && m.Mode != api.ControlActive {
			return &api.Denial{Code: api.CodeControl, Operation: c.tool.Name, Subject: name, Rule: "control " + m.Mode, Source: m.By,
				Message: fmt.Sprintf("workspace %q is under control %s, and nothing is changed meanwhile: %s", name, m.Mode, m.Reason),
				Hint:    "a person gives it back with `carrel control " + name + " active`; mcp_control_update with mode active and confirmed_user_request true asks for it"}
		}
	}
	return nil
}

// keptControl refuses what a person's word stands against that was said to this server's
// workspace before it was stopped: who may stop one must not get around that word by it.
// The workspace itself starts as it ended, so that it can be given back.
func (c *call) keptControl(ctx context.Context, said, name string) error {
	s := c.server
	if name != s.opts.Workspace || s.own && !s.hasStarted() {
		return nil
	}
	if meant, err := c.named(said); err == nil && meant == name && c.tool.starts {
		return nil
	}
	var list []api.Desk
	if err := s.carrel(ctx, nil, &list, "list", "--json"); err != nil {
		return fmt.Errorf("looking for the control of workspace %s: %w", name, err)
	}
	for _, d := range list {
		if d.Name == name && d.Control.Mode != "" && d.Control.Mode != api.ControlActive {
			return &api.Denial{Code: api.CodeControl, Operation: c.tool.Name, Subject: name, Rule: "control " + d.Control.Mode, Source: d.Control.By,
				Message: fmt.Sprintf("workspace %q was stopped under control %s, and nothing is changed meanwhile: %s", name, d.Control.Mode, d.Control.Reason),
				Hint:    "workspace_start brings it back as it was; then a person gives it back with `carrel control " + name + " active`"}
		}
	}
	return nil
}

// hasEnded says whether a supervisor that does not answer is ending.
func hasEnded(ctx context.Context, e supervisor.Entry) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return e.WaitEnd(ctx) == nil
}

// within makes a path that may be relative one of the project.
func (c *call) within(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.server.opts.Project, path)
}

func joined(list []string) string { return strings.Join(list, ", ") }

// carrelLines is carrel for a command that prints one value a line.
func (s *Server) carrelLines(ctx context.Context, each func(api.Output), args ...string) error {
	var all json.RawMessage
	if err := s.carrelRaw(ctx, nil, &all, args...); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(all))
	for d.More() {
		var o api.Output
		if err := d.Decode(&o); err != nil {
			return fmt.Errorf("carrel %s: what it printed is not understood: %w", args[0], err)
		}
		each(o)
	}
	return nil
}

// carrelText gives what the command line prints that is no JSON.
func (s *Server) carrelText(ctx context.Context, out *[]byte, args ...string) error {
	var raw json.RawMessage
	err := s.carrelRaw(ctx, nil, &raw, args...)
	*out = raw
	return err
}
