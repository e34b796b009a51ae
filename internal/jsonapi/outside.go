package jsonapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"carrel/internal/api"
	"carrel/internal/op/historyop"
)

// outside looks for changes that somebody else made to what steps left. What decides is
// the history's own comparison, as an undo makes it; that directories are watched says
// only when it is worth looking.
type outside struct {
	hints chan struct{}
	dirs  *dirWatch       // nil where directories cannot be watched
	told  map[string]bool // path and step
	last  uint64          // number of a barrier
	again time.Duration   // until the next look where a step goes on without its command; 0 for none
	timer *time.Timer     // that look
}

// Bounds of looking for others' changes.
const (
	lookPause = time.Second            // between two looks
	settle    = 300 * time.Millisecond // after a sign of a change
	lookRest  = 30 * time.Second       // the longest, while a step goes on
	maxLooked = 200                    // steps, the newest
	maxDirs   = 2048                   // that are watched
)

// hint says that it may be worth looking.
func (o *outside) hint() {
	if o.hints == nil {
		return
	}
	select {
	case o.hints <- struct{}{}:
	default:
	}
}

// watchOutside begins to look, until the session ends.
func (n *session) watchOutside() {
	o := &n.outside
	o.hints, o.told, o.timer = make(chan struct{}, 1), map[string]bool{}, time.AfterFunc(lookRest, o.hint)
	var err error
	if o.dirs, err = newDirWatch(o.hint); err != nil {
		n.server.emit("warning", said{Code: "file_watcher_failed", Message: fmt.Sprintf("changes by others are seen only when a command has ended: %v", err)})
	}
	n.busy.Go(func() {
		defer o.dirs.close()
		defer o.timer.Stop()
		for {
			select {
			case <-n.ctx.Done():
				return
			case <-o.hints:
			}
			if !pause(n.ctx, settle) {
				return
			}
			select {
			case <-o.hints:
			default:
			}
			n.look()
			if !pause(n.ctx, lookPause) {
				return
			}
		}
	})
	o.hint() // what was changed between two sessions
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// look tells of what is new in the way of an undo.
func (n *session) look() {
	if len(n.running()) > 0 {
		return // their end is a hint
	}
	o := &n.outside
	before := n.begun.Load()
	found, would, err := n.barriers(n.ctx)
	if n.begun.Load() != before {
		o.hint() // a command has begun meanwhile, whose work would be taken for somebody else's
		return
	}
	if err != nil {
		if n.ctx.Err() == nil {
			n.server.log.say("warn", nil, "looking for changes by others: %v", err)
		}
		return
	}
	o.dirs.want(parents(would))
	o.goesOn(would.open)
	e := outsideChange{Affected: []json.RawMessage{}, Barriers: []map[string]any{}}
	now := map[string]bool{}
	for _, one := range found {
		path, err := json.Marshal(one["path"])
		if err != nil || would.ours[string(path)] {
			continue
		}
		key := fmt.Sprintf("%s %v", path, one["step"])
		if now[key] = true; !o.told[key] {
			e.Affected, e.Barriers = append(e.Affected, path), append(e.Barriers, one)
		}
	}
	o.told = now
	if len(e.Affected) > 0 {
		o.last++
		e.BarrierID = o.last
		n.server.emit("external_modification", e)
	}
}

// goesOn looks again while a step is open that no command of ours has: it is another one's,
// or what a command has left behind, and what becomes of it is not told here.
func (o *outside) goesOn(open bool) {
	o.timer.Stop()
	if !open {
		o.again = 0
		return
	}
	o.again = min(max(lookPause, 2*o.again), lookRest)
	o.timer.Reset(o.again)
}

// barriers are what would be in the way of taking everything back, and what that would do.
func (n *session) barriers(ctx context.Context) ([]map[string]any, undone, error) {
	all, err := n.steps().history(ctx, "")
	open := slices.ContainsFunc(all, func(s historyop.Step) bool { return s.State == "running" })
	steps := undoable(all)
	if err != nil || len(steps) == 0 {
		return nil, undone{open: open}, err
	}
	would, err := n.takeBack(ctx, historyop.UndoRequest{DryRun: true, Count: min(len(steps), maxLooked)})
	if d := (*api.Denial)(nil); errors.As(err, &d) && ctx.Err() == nil {
		if again, e := n.steps().undoable(ctx, ""); e == nil && len(again) != len(steps) {
			return nil, undone{open: true}, nil // steps went meanwhile: it is looked again
		}
	}
	var p *Problem
	if errors.As(err, &p) && p.Code == CodeConflict {
		err = nil
	}
	would.open, would.ours = open, map[string]bool{}
	for _, s := range all {
		if s.State != "running" {
			continue
		}
		changes, _, err := n.steps().changes(ctx, s.Step)
		if err != nil {
			return nil, would, err
		}
		for _, path := range changes {
			would.ours[compact(path)] = true
		}
	}
	return would.Conflicts, would, err
}

// compact is a path as json.Marshal writes it.
func compact(path json.RawMessage) string {
	var v any
	if json.Unmarshal(path, &v) != nil {
		return string(path)
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// parents are the directories of what steps changed, and those that they made.
func parents(u undone) []string {
	var out []string
	for _, raw := range slices.Concat(u.Restored, u.Removed) {
		var path string
		if json.Unmarshal(raw, &path) != nil || !filepath.IsAbs(path) {
			continue
		}
		out = append(out, filepath.Dir(path))
		if st, err := os.Lstat(path); err == nil && st.IsDir() {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), maxDirs)]
}
