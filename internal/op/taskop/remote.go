package taskop

import (
	"context"
	"encoding/json"
	"fmt"

	"carrel/internal/api"
	"carrel/internal/inside"
)

// Remote are the tasks of the coordinator that this process works inside of: each operation is
// carried out outside.
type Remote struct {
	ask func(call []byte) ([]byte, error) // nil is [inside.Task]
}

// call asks for one thing. A result comes with an error where tasks were waited for in vain.
func call[T any](ctx context.Context, r *Remote, c *Call) (T, error) {
	var result T
	text, err := json.Marshal(c)
	if err != nil {
		return result, err
	}
	ask := r.ask
	if ask == nil {
		ask = inside.Task
	}
	type said struct {
		text []byte
		err  error
	}
	done := make(chan said, 1)
	go func() {
		text, err := ask(text)
		done <- said{text, err}
	}()
	select {
	case <-ctx.Done():
		return result, ctx.Err()
	case s := <-done:
		if s.err != nil {
			return result, s.err
		}
		return result, read(s.text, &result)
	}
}

// read takes an answer apart.
func read(text []byte, result any) error {
	var a Answer
	if err := json.Unmarshal(text, &a); err != nil {
		return fmt.Errorf("the answer from outside: %w", err)
	}
	if len(a.Result) > 0 {
		if err := json.Unmarshal(a.Result, result); err != nil {
			return fmt.Errorf("the answer from outside: %w", err)
		}
	}
	if a.Error == nil {
		return nil
	}
	if why := waitCodes[a.Error.Code]; why != nil {
		return why
	}
	return a.Error
}

// New is [Tasks.New].
func (r *Remote) New(ctx context.Context, n *NewRequest) (*api.Task, error) {
	if len(n.Include) > 0 || n.WithChanges || len(n.Words) > 0 {
		return nil, &api.Denial{Code: api.CodeInside, Operation: "task new", Subject: n.Name,
			Rule: "a task gets what its coordinator has", Source: "built in",
			Message: "inside a workspace a task takes no flags but --base, --agent, --prompt, --prompt-file and --purpose",
			Hint:    "it gets the policy of this workspace"}
	}
	return call[*api.Task](ctx, r, &Call{Op: "new", Name: n.Name, Base: n.Base, Agent: n.Agent, Argv: texts(n.Argv),
		Prompt: n.Prompt, Purpose: n.Purpose})
}

// Status is [Tasks.Status].
func (r *Remote) Status(ctx context.Context, name string) (*api.Task, error) {
	return call[*api.Task](ctx, r, &Call{Op: "status", Name: name})
}

// List is [Tasks.List]; a coordinator has tasks in its own repository alone.
func (r *Remote) List(ctx context.Context, _, sizes bool) ([]api.Task, error) {
	return call[[]api.Task](ctx, r, &Call{Op: "list", Sizes: sizes})
}

// Diff is [Tasks.Diff].
func (r *Remote) Diff(ctx context.Context, name string, stat bool) (string, error) {
	text, err := call[api.Text](ctx, r, &Call{Op: "diff", Name: name, Stat: stat})
	return string(text), err
}

// Wait is [Tasks.Wait].
func (r *Remote) Wait(ctx context.Context, w *WaitRequest) ([]api.Task, error) {
	return call[[]api.Task](ctx, r, &Call{Op: "wait", Names: w.Names, States: w.States, Any: w.Any, For: w.For})
}

// Capture is [Tasks.Capture].
func (r *Remote) Capture(ctx context.Context, name string, lines int) ([]string, error) {
	return call[[]string](ctx, r, &Call{Op: "capture", Name: name, Lines: lines})
}

// Send is [Tasks.Send].
func (r *Remote) Send(ctx context.Context, name, text string) error {
	_, err := call[any](ctx, r, &Call{Op: "send", Name: name, Text: text})
	return err
}

// Run is [Tasks.Run].
func (r *Remote) Run(ctx context.Context, name string, argv []string) (*Ran, error) {
	return call[*Ran](ctx, r, &Call{Op: "run", Name: name, Argv: texts(argv)})
}

// Merge is [Tasks.Merge], into the branch that the coordinator itself is on.
func (r *Remote) Merge(ctx context.Context, m *MergeRequest) (*Merged, error) {
	return call[*Merged](ctx, r, &Call{Op: "merge", Name: m.Name, Into: m.Into, Squash: m.Squash, Rebase: m.Rebase,
		Commit: m.Commit, Message: m.Message, Check: m.Check, Keep: m.Keep})
}

// Close is [Tasks.Close].
func (r *Remote) Close(ctx context.Context, name string) error {
	_, err := call[any](ctx, r, &Call{Op: "close", Name: name})
	return err
}

// Drop is [Tasks.Drop].
func (r *Remote) Drop(ctx context.Context, name string, force bool) error {
	_, err := call[any](ctx, r, &Call{Op: "drop", Name: name, Force: force})
	return err
}
