package taskop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"carrel/internal/api"
	"carrel/internal/op"
	"carrel/internal/strictjson"
	"carrel/internal/task"
)

// maxChildren bounds the tasks that one coordinator has at once.
const maxChildren = 8

// Coordinator is a workspace whose programs may give tasks to others.
type Coordinator struct {
	Workspace string   // its name
	Agent     string   // the agent that it is for; its tasks are for the same one, or for none
	Words     []string // the flags that it was started with: its tasks get the same
}

// Call is what a program inside asks for. Op is one of the names in calls, and decides which of the others
// count.
type Call struct {
	Op      string        `json:"op"`
	Name    string        `json:"name,omitempty"`
	Base    string        `json:"base,omitempty"`
	Agent   string        `json:"agent,omitempty"`
	Argv    []api.Text    `json:"argv,omitempty"`
	Prompt  string        `json:"prompt,omitempty"`
	Purpose string        `json:"purpose,omitempty"`
	Text    string        `json:"text,omitempty"`
	Lines   int           `json:"lines,omitempty"`
	Sizes   bool          `json:"sizes,omitempty"`
	Stat    bool          `json:"stat,omitempty"`
	Names   []string      `json:"names,omitempty"`
	States  []string      `json:"states,omitempty"`
	Any     bool          `json:"any,omitempty"`
	For     time.Duration `json:"for,omitempty"` // nanoseconds
	Into    string        `json:"into,omitempty"`
	Squash  bool          `json:"squash,omitempty"`
	Rebase  bool          `json:"rebase,omitempty"`
	Commit  string        `json:"commit,omitempty"`
	Message string        `json:"message,omitempty"`
	Check   string        `json:"check,omitempty"`
	Keep    bool          `json:"keep,omitempty"`
	Force   bool          `json:"force,omitempty"`
}

// Answer is what it is told. Both may be there: tasks that were waited for in vain.
type Answer struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  *api.Denial     `json:"error,omitempty"`
}

// Ran is how a command in a task ended.
type Ran struct {
	Stdout api.Text `json:"stdout"`
	Stderr api.Text `json:"stderr"`
	Exit   int      `json:"exit"`
}

// calls are the operations of programs inside, and whether they change something.
var calls = map[string]struct {
	changes bool
	do      func(ctx context.Context, t *Tasks, c *Call) (any, error)
}{
	"new": {true, func(ctx context.Context, t *Tasks, c *Call) (any, error) {
		name, err := t.nameFor(ctx, c)
		if err != nil {
			return nil, err
		}
		return t.New(ctx, &NewRequest{Name: name, Base: c.Base, Agent: c.Agent, Argv: words(c.Argv), Prompt: c.Prompt, Purpose: c.Purpose})
	}},
	"list":   {false, func(ctx context.Context, t *Tasks, c *Call) (any, error) { return t.List(ctx, false, c.Sizes) }},
	"status": {false, func(ctx context.Context, t *Tasks, c *Call) (any, error) { return t.Status(ctx, c.Name) }},
	"diff":   {false, func(ctx context.Context, t *Tasks, c *Call) (any, error) { return textOf(t.Diff(ctx, c.Name, c.Stat)) }},
	"capture": {false, func(ctx context.Context, t *Tasks, c *Call) (any, error) {
		return t.Capture(ctx, c.Name, min(max(c.Lines, 1), maxLines))
	}},
	"wait": {false, func(ctx context.Context, t *Tasks, c *Call) (any, error) {
		return t.Wait(ctx, &WaitRequest{Names: c.Names, States: c.States, Any: c.Any, For: c.For})
	}},
	"send": {true, func(ctx context.Context, t *Tasks, c *Call) (any, error) { return nil, t.Send(ctx, c.Name, c.Text) }},
	"run":  {true, func(ctx context.Context, t *Tasks, c *Call) (any, error) { return t.Run(ctx, c.Name, words(c.Argv)) }},
	"merge": {true, func(ctx context.Context, t *Tasks, c *Call) (any, error) {
		return t.Merge(ctx, &MergeRequest{Name: c.Name, Into: c.Into, Squash: c.Squash, Rebase: c.Rebase, Commit: c.Commit,
			Message: c.Message, Check: c.Check, Keep: c.Keep})
	}},
	"close": {true, func(ctx context.Context, t *Tasks, c *Call) (any, error) { return nil, t.Close(ctx, c.Name) }},
	"drop":  {true, func(ctx context.Context, t *Tasks, c *Call) (any, error) { return nil, t.Drop(ctx, c.Name, c.Force) }},
}

// maxLines bounds the lines of a terminal that are told.
const maxLines = 10_000

func textOf(text string, err error) (api.Text, error) { return api.Text(text), err }

// Serve answers the programs inside a coordinator's workspace. c is the workspace itself, outside, in
// its own directory.
func Serve(c *op.Caller, by Coordinator) func(ctx context.Context, call []byte) []byte {
	quiet := *c
	quiet.Notice = nil // no terminal shows it
	return func(ctx context.Context, text []byte) []byte {
		var call Call
		result, err := any(nil), strictjson.Decode(text, &call)
		if err == nil {
			result, err = answer(ctx, &quiet, &by, &call)
		}
		var a Answer
		if result != nil {
			a.Result, _ = json.Marshal(result)
		}
		if err != nil {
			a.Error = waitDenial(err)
		}
		said, _ := json.Marshal(a)
		return said
	}
}

// answer carries one call out.
func answer(ctx context.Context, c *op.Caller, by *Coordinator, call *Call) (any, error) {
	do, ok := calls[call.Op]
	if !ok {
		return nil, &api.Denial{Code: api.CodeUnsupported, Operation: "task", Subject: call.Op,
			Message: fmt.Sprintf("`carrel task %s` is not for programs inside a workspace", call.Op),
			Hint:    "the person it works for does that outside"}
	}
	if do.changes {
		if err := mayAct(ctx, c, by, call.Op); err != nil {
			return nil, err
		}
	}
	t, err := Open(c)
	if err != nil {
		return nil, err
	}
	t.by = by
	return do.do(ctx, t, call)
}

// mayAct refuses what changes something while the coordinator's workspace is held.
func mayAct(ctx context.Context, c *op.Caller, by *Coordinator, operation string) error {
	e, ok, err := c.WholeName(by.Workspace)
	if err != nil || !ok {
		return errors.Join(err, errors.New("the workspace that asks is ending"))
	}
	r, err := e.Ask(ctx, api.Request{Op: api.OpStatus})
	if err != nil {
		return err
	}
	if why := op.WhenActive.Refuse("task "+operation, by.Workspace, r.Status); why != nil {
		return why
	}
	return nil
}

// Codes of how waiting ended in vain.
const (
	codeWaitTime  = "wait-time"
	codeWaitNone  = "wait-none"
	codeWaitEnded = "wait-ended"
)

var waitCodes = map[string]error{codeWaitTime: ErrWaitTime, codeWaitNone: ErrWaitNone, codeWaitEnded: ErrWaitEnded}

// waitDenial is an error for a program, which has to know how a wait ended.
func waitDenial(err error) *api.Denial {
	d := *op.Denial(err)
	for code, why := range waitCodes {
		if errors.Is(err, why) {
			d.Code = code
		}
	}
	return &d
}

// bounded holds a coordinator's new task to what the coordinator may itself.
func (rec *records) bounded(f *found, r *NewRequest) error {
	list, broken, err := rec.store.List(f.key)
	if err != nil {
		return err
	}
	n := len(broken) // which may be its own
	for _, one := range list {
		if one.Parent == rec.by.Workspace {
			n++
		}
	}
	if n >= maxChildren {
		return &api.Denial{Code: api.CodeBusy, Operation: "task new", Subject: f.Name, Rule: fmt.Sprintf("%d tasks at once",
			maxChildren), Source: "built in",
			Message: fmt.Sprintf("workspace %s has %d tasks already", rec.by.Workspace, n), Hint: "merge or drop one first"}
	}
	if len(r.Include) > 0 || r.WithChanges || len(r.Words) > 0 {
		return errors.New("a task that an agent asks for takes over no files and no flags")
	}
	if r.Agent == "" && len(r.Argv) == 0 {
		r.Agent = rec.by.Agent
	}
	f.Parent, r.Words = rec.by.Workspace, rec.by.Words
	return nil
}

// mayStart refuses a coordinator's task an agent whose login the coordinator has not.
func (by *Coordinator) mayStart(agent string) error {
	if agent == "" || agent == by.Agent {
		return nil
	}
	return &api.Denial{Code: api.CodeCeiling, Operation: "task new", Subject: agent,
		Rule: "a task gets what its coordinator has", Source: "built in",
		Message: fmt.Sprintf("workspace %s is not for agent %s, and has not its login", by.Workspace,
			agent), Hint: "leave --agent out, or give the same agent"}
}

// ownBranch refuses a coordinator to merge into anything but the branch that it is on itself.
func (rec *records) ownBranch(ctx context.Context, f *found, r *MergeRequest) error {
	where, err := rec.here(ctx)
	if err != nil {
		return err
	}
	into := r.Into
	if into == "" {
		into = f.Tree.Into
	}
	if where.Branch == "" || into != where.Branch || task.Key(where.Common) != f.key {
		return &api.Denial{Code: api.CodeNotHuman, Operation: "task merge", Subject: f.Name,
			Rule: "a coordinator merges into its own branch", Source: "built in",
			Message: fmt.Sprintf("merging task %s into %q takes a person", f.Name, into), Hint: "`carrel task merge " + f.Name + "`, outside"}
	}
	r.Approve = nil // its own branch is its own to change
	return nil
}

// Operations are the names of what programs inside can ask for.
func Operations() []string {
	var names []string
	for name := range calls {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// nameFor is the name that a call gives a new task, or one that its prompt suggests and no task has.
func (rec *records) nameFor(ctx context.Context, c *Call) (string, error) {
	if c.Name != "" {
		if task.CheckName(c.Name) == nil {
			return c.Name, nil
		}
		return trimName(c.Name, len(c.Name)), nil // a branch's, such as fix/login
	}
	where, err := rec.here(ctx)
	if err != nil {
		return "", err
	}
	first := cmp.Or(trimName(c.Prompt, 4), "task")
	for i := 1; ; i++ {
		name := first
		if i > 1 {
			name = fmt.Sprintf("%s-%d", first, i)
		}
		if _, err := rec.store.Get(task.Key(where.Common), name); errors.Is(err, task.ErrNone) || err != nil || i > 100 {
			return name, nil
		}
	}
}

// trimName keeps the first words of a text as a name.
func trimName(text string, most int) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, text)
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '-' })
	name = strings.Join(parts[:min(len(parts), most)], "-")
	return strings.Trim(name[:min(len(name), 30)], "-")
}
