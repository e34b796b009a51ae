package session

import (
	"context"
	"math"
	"sync"

	"carrel/internal/api"
	"carrel/internal/supervisor"
)

// execKept runs a command whose output is kept, as that of an app that goes on alone,
// and told as it comes. Beyond that it is like every exec: one step, and it ends with
// its caller. The command is not held up by a slow caller, who hears what was lost.
func (d *desk) execKept(ctx context.Context, c *supervisor.Call) (api.Reply, error) {
	if len(c.Files) > 0 || c.Request.Command.Terminal {
		return api.Reply{}, api.Refused(api.CodeRequest, api.OpExec, d.req.Name, "a command whose output is kept has no descriptors of its caller's, and no terminal", "")
	}
	a, exit, err := d.apps.launch(api.AppExec, *c.Request.Command)
	if err != nil {
		return notStartedReply(exit, err)
	}
	said := d.apps.told(a, false)
	if err := c.Send(api.Reply{App: &said}); err != nil {
		a.hangUp()
		return api.Reply{}, err
	}
	tell := d.tellAs(ctx, c, a)
	last, err := d.waited(ctx, c, a)
	tell()
	return last, err
}

// tellAs sends what an app writes, until the function that it gives is called: that
// sends the rest. What the app has left behind may write on; that is kept.
func (d *desk) tellAs(ctx context.Context, c *supervisor.Call, a *app) func() {
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for stream, log := range a.logs {
		wg.Go(func() {
			at, end := uint64(0), uint64(math.MaxUint64)
			send := func(o *api.Output) error {
				if o.At >= end {
					return context.Canceled // written by what was left behind
				}
				at = o.At + uint64(len(o.Data))
				return c.Send(api.Reply{Output: o})
			}
			_ = d.place.SendLog(ctx, a.info.ID, stream, &api.Request{Follow: true}, log, send)
			end = uint64(log.End())
			_ = d.place.SendLog(ctx, a.info.ID, stream, &api.Request{Since: at}, log, send)
		})
	}
	return func() {
		stop()
		wg.Wait()
	}
}
