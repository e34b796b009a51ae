package supervisor

import (
	"cmp"
	"context"
	"time"

	"carrel/internal/api"
)

// AnswerTime is how long a supervisor may take for an answer that it has in memory.
const AnswerTime = 3 * time.Second

// Ask asks a workspace for something that it answers at once.
func (e Entry) Ask(ctx context.Context, req api.Request) (api.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, AnswerTime)
	defer cancel()
	return e.Call(ctx, req)
}

// Called is what people call a workspace.
func (e Entry) Called() string { return cmp.Or(e.Name, e.ID) }
