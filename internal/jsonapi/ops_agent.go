package jsonapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"carrel/internal/agents"
	"carrel/internal/api"
	"carrel/internal/supervisor"
	"carrel/internal/tools"
)

func agentOps() []Operation {
	return []Operation{
		define("agent.execute", "Starts a shell command; it is one step, and its output and end come as events.", inOrder, execute),
		define("agent.prompt", "Starts the session's agent with a prompt and without questions; what it says comes as events.", inOrder, prompt),
	}
}

type executeIn struct {
	Command string            `json:"command" jsonschema:"for /bin/bash -c, or sh where there is none"`
	Env     map[string]string `json:"env,omitempty"`
	Cwd     string            `json:"cwd,omitempty" jsonschema:"directory; relative ones are to the first working directory, which is the default"`
}

type executeOut struct {
	CommandID string `json:"command_id"`
	Status    string `json:"status"` // started
}

// maxCommands bounds how many commands run at once.
const maxCommands = 128

func execute(ctx context.Context, c *call, in executeIn) (executeOut, error) {
	n, err := c.active()
	if err != nil {
		return executeOut{}, err
	}
	if strings.TrimSpace(in.Command) == "" || strings.ContainsRune(in.Command, 0) {
		return executeOut{}, invalid("command", "the command is empty, or has a zero byte")
	}
	cmd := api.Command{Name: "execute", Dir: n.place(in.Cwd)}
	for _, name := range slices.Sorted(maps.Keys(in.Env)) {
		if value := in.Env[name]; name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return executeOut{}, invalid("env", "%.60q cannot be a variable with that value: no = in the name, no zero byte", name)
		}
		cmd.Env = append(cmd.Env, name+"="+in.Env[name])
	}
	return c.started(n, "terminal_output", func(ctx context.Context) (*supervisor.Conversation, *api.App, error) {
		return tools.Shell(ctx, n.entry, in.Command, cmd)
	})
}

// place makes a directory that may be relative one of the first working directory.
func (n *session) place(dir string) string {
	switch {
	case dir == "":
		return n.dirs[0].path
	case filepath.IsAbs(dir):
		return filepath.Clean(dir)
	}
	return filepath.Join(n.dirs[0].path, dir)
}

type promptIn struct {
	Prompt string `json:"prompt"`
	Cwd    string `json:"cwd,omitempty" jsonschema:"as in agent.execute"`
}

func prompt(ctx context.Context, c *call, in promptIn) (executeOut, error) {
	n, err := c.active()
	if err != nil {
		return executeOut{}, err
	}
	if strings.TrimSpace(in.Prompt) == "" || strings.ContainsRune(in.Prompt, 0) {
		return executeOut{}, invalid("prompt", "the prompt is empty, or has a zero byte")
	}
	if n.agent == "" {
		return executeOut{}, invalid("session", "the session has no agent: --agent NAME of carrel stdio, or carrel.agent of session.start, says which")
	}
	a, ok := agents.ByName(n.agent)
	if !ok {
		return executeOut{}, invalid("session", "no agent %q is known", n.agent)
	}
	argv, err := a.HeadlessArgv(in.Prompt)
	if err != nil {
		return executeOut{}, invalid("prompt", "%v", err)
	}
	cmd := api.Command{Name: n.agent, Dir: n.place(in.Cwd), Argv: argv}
	return c.started(n, "agent_output", func(ctx context.Context) (*supervisor.Conversation, *api.App, error) {
		return tools.Start(ctx, n.entry, cmd)
	})
}

// started starts a command, and tells of it from when the request is answered.
func (c *call) started(n *session, says string, start func(context.Context) (*supervisor.Conversation, *api.App, error)) (executeOut, error) {
	if len(n.running()) >= maxCommands {
		return executeOut{}, &Problem{Code: CodeBusy, Message: fmt.Sprintf("%d commands run already; wait for one of them, or carrel.cancel it", maxCommands)}
	}
	n.begun.Add(1)
	talk, app, err := start(n.ctx)
	if err != nil {
		return executeOut{}, err
	}
	n.mu.Lock()
	n.commands[app.ID] = true
	n.mu.Unlock()
	n.server.running.Add(1)
	c.after = append(c.after, func() {
		n.busy.Go(func() {
			defer n.server.running.Done()
			n.tellCommand(talk, app.ID, says)
		})
	})
	return executeOut{CommandID: app.ID, Status: "started"}, nil
}

// running are the commands that run.
func (n *session) running() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string{}, slices.Sorted(maps.Keys(n.commands))...)
}

// tellCommand tells what a command says, and how it ended.
func (n *session) tellCommand(talk *supervisor.Conversation, id, says string) {
	defer talk.Close()
	s := n.server
	pieces := map[string]*text{}
	for {
		r, _, err := talk.Next()
		if r.Output != nil {
			p := pieces[r.Output.Stream]
			if p == nil {
				p = &text{}
				pieces[r.Output.Stream] = p
			}
			p.tell(s, says, id, r.Output)
		}
		if err == nil && r.More {
			continue
		}
		for _, stream := range slices.Sorted(maps.Keys(pieces)) {
			pieces[stream].rest(s, says, id, stream)
		}
		n.ended(id, r.App, err)
		return
	}
}

// ended tells how a command ended.
func (n *session) ended(id string, app *api.App, err error) {
	s := n.server
	n.mu.Lock()
	delete(n.commands, id)
	n.mu.Unlock()
	if err != nil || app == nil {
		s.emit("error", said{Code: "command_lost", CommandID: id, Message: fmt.Sprintf("how the command ended is not known: %v", err)})
		return
	}
	e := stepCompleted{CommandID: id, StepIDs: append([]uint64{}, app.Steps...), Affected: []json.RawMessage{}, ExitCode: app.Exit, Signal: app.Signal}
	if len(e.StepIDs) > 0 {
		e.StepID = e.StepIDs[len(e.StepIDs)-1]
		all := once(n.looks.paths(n.affected, e.StepIDs))
		room := min(len(all), maxAffected)
		e.Affected, e.Left = all[:room], len(all)-room
	}
	s.emit("step_completed", e)
	n.outside.hint()
}

// text cuts a stream at characters: one that is split between two pieces is told with the
// second.
type text struct {
	held []byte
	lost uint64 // that nobody was told, as the client does not read
}

func (t *text) tell(s *Server, says, id string, o *api.Output) {
	data := append(t.held, o.Data...)
	keep := 0
	for back := 1; back < utf8.UTFMax && back <= len(data); back++ {
		if c := data[len(data)-back]; utf8.RuneStart(c) {
			if !utf8.FullRune(data[len(data)-back:]) {
				keep = back
			}
			break
		}
	}
	t.held, t.lost = append([]byte{}, data[len(data)-keep:]...), t.lost+o.Lost
	if data = data[:len(data)-keep]; !s.out.room() {
		t.lost += uint64(len(data))
		return
	}
	t.emit(s, says, id, o.Stream, data)
}

func (t *text) rest(s *Server, says, id, stream string) {
	t.emit(s, says, id, stream, t.held)
	t.held = nil
}

func (t *text) emit(s *Server, says, id, stream string, data []byte) {
	if len(data) == 0 && t.lost == 0 {
		return
	}
	o := output{CommandID: id, Stream: stream, Data: string(data), Lost: t.lost}
	t.lost = 0
	if !utf8.Valid(data) {
		o.Data, o.Encoding = base64.StdEncoding.EncodeToString(data), "base64"
	}
	s.emit(says, o)
}
