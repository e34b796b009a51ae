package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"carrel/internal/api"
	"carrel/internal/auditor"
	"carrel/internal/ceilings"
	"carrel/internal/decide"
	"carrel/internal/inside"
	"carrel/internal/notify"
	"carrel/internal/policy"
	"carrel/internal/sound"
	"carrel/internal/supervisor"

	"golang.org/x/term"
)

// Bounds of what built-in commands ask of the person's desktop.
const (
	soundBurst    = 4 // sounds at once, one after the other
	soundRefill   = 500 * time.Millisecond
	maxTitleNoted = 200 // bytes of a title in an event
)

// virtual is what the built-in commands of one workspace reach outside: the host's
// sounds and its notifications. What they ask for is decided here, and never by them.
type virtual struct {
	off map[policy.Dimension]policy.Reason // what is switched off, and by whom

	host      sound.Host
	play      func(context.Context, []sound.Way) error
	bell      func() error // rings the person's terminal; nil where there is none
	messenger *notify.Messenger

	record func(api.Link, *api.Denial)
	tell   func(api.Event)
	audit  *auditor.Auditor
	result *api.Result

	mu      sync.Mutex
	playing bool
	spent   float64 // of soundBurst
	at      time.Time
	refused map[policy.Dimension]bool // a denial was recorded
}

// virtualCommands makes what a workspace's built-in commands reach. server hears of it.
func virtualCommands(d *decide.Decision, name string, r *api.Result, record func(api.Link, *api.Denial), server *supervisor.Server) *virtual {
	v := &virtual{
		off:  make(map[policy.Dimension]policy.Reason),
		host: sound.This(d.Getenv, d.PulseCookie), play: sound.Play, messenger: notify.NewMessenger(name, notify.Address(d.Getenv)),
		record: record, tell: server.Emit, audit: d.Audit, result: r, refused: make(map[policy.Dimension]bool),
	}
	if d.Policy.Sound != policy.SwitchOn {
		v.off[policy.DimSound] = d.Reason(policy.DimSound)
	}
	if d.Policy.Notify != policy.SwitchOn {
		v.off[policy.DimNotify] = d.Reason(policy.DimNotify)
	}
	if d.Policy.OpenURLs == policy.LinksNone {
		v.off[policy.DimLinks] = d.Reason(policy.DimLinks)
	}
	return v
}

// terminalBell rings the terminal that the supervisor shares with a run; nil for none.
func terminalBell() func() error {
	for _, f := range []*os.File{os.Stderr, os.Stdout} {
		if term.IsTerminal(int(f.Fd())) {
			return func() error {
				_, err := f.WriteString("\a")
				return err
			}
		}
	}
	return nil
}

// refusal says that something is switched off, nil where it is not. It is recorded
// once: a hook asks again and again.
func (v *virtual) refusal(dim policy.Dimension, op, subject string) *api.Denial {
	r, off := v.off[dim]
	if !off {
		return nil
	}
	var d *api.Denial
	if r.Limited {
		d = ceilings.Beyond(op, dim, virtualWords[dim].on, r.Value, r.Source)
	} else {
		d = &api.Denial{Time: time.Now(), Code: api.CodeOff, Operation: op, Rule: string(dim) + ": " + r.Value, Source: r.Source.String(),
			Message: fmt.Sprintf("%s (%s)", virtualWords[dim].off, r.Source), Hint: virtualWords[dim].hint}
	}
	d.Subject = subject
	v.mu.Lock()
	first := !v.refused[dim]
	v.refused[dim] = true
	v.mu.Unlock()
	if first {
		told := *d
		v.record(api.Link{}, &told)
	}
	return d
}

var virtualWords = map[policy.Dimension]struct{ on, off, hint string }{
	policy.DimSound:  {"on", "sounds are switched off", "virtual_commands: {sound: on} where it is switched off"},
	policy.DimNotify: {"on", "notifications are switched off", "virtual_commands: {notify: on} where it is switched off"},
	policy.DimLinks:  {"a link", "links are switched off", "open_urls: show, or browser, in the user's configuration"},
}

// used counts one use and tells of it.
func (v *virtual) used(kind, operation, subject, how string) {
	v.mu.Lock()
	switch kind {
	case api.EventSound:
		v.result.Sounds++
	case api.EventNotification:
		v.result.Notifications++
	}
	v.mu.Unlock()
	v.tell(api.Event{Kind: kind, Text: strings.TrimSuffix(subject+": "+how, ": ")})
	v.audit.Add(api.AuditRecord{Kind: api.AuditVirtual, Who: api.AuditWho{Kind: api.WhoInside}, Operation: operation, Subject: subject, Decision: api.DecisionAllowed, Detail: how})
}

// sound plays one of the host's sounds, by its name, or rings the terminal. The answer
// comes when it was heard, and tells the truth.
func (s *insideServer) sound(ctx context.Context, name string) inside.Reply {
	v := s.virtual
	if !slices.Contains(inside.Sounds(), name) {
		return inside.Reply{Message: fmt.Sprintf("there is no sound %.60q", name)}
	}
	if why := v.refusal(policy.DimSound, "play-sound", name); why != nil {
		return inside.Reply{Message: why.Message}
	}
	if !v.mayPlay() {
		return inside.Reply{Message: "another sound is being played, or there were too many just now"}
	}
	defer v.played()
	ways, err := v.host.Ways(name)
	if err == nil {
		if err = v.play(ctx, ways); err == nil {
			v.used(api.EventSound, "sound", name, "played")
			return inside.Reply{OK: true, Message: "played outside"}
		}
	}
	if v.bell != nil && v.bell() == nil {
		v.used(api.EventSound, "sound", name, "rang the terminal's bell")
		return inside.Reply{OK: true, Message: "the terminal's bell was rung"}
	}
	if !errors.Is(err, sound.ErrNoFile) && !errors.Is(err, sound.ErrNoPlayer) {
		err = errors.New("the player outside did not play it") // what it says is the host's business
	}
	return inside.Reply{Message: fmt.Sprintf("%s was not played: %v, and there is no terminal to ring", name, err)}
}

// mayPlay admits one sound at a time, and a few a second; played ends it.
func (v *virtual) mayPlay() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	v.spent = max(0, v.spent-now.Sub(v.at).Seconds()/soundRefill.Seconds())
	v.at = now
	if v.playing || v.spent > soundBurst-1 {
		return false
	}
	v.spent++
	v.playing = true
	return true
}

func (v *virtual) played() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.playing = false
}

// notification shows text on the person's desktop, under the workspace's name.
func (s *insideServer) notification(ctx context.Context, n inside.Note) inside.Reply {
	v := s.virtual
	if why := v.refusal(policy.DimNotify, "notify", n.Title[:min(len(n.Title), inside.MaxNote)]); why != nil {
		return inside.Reply{Message: why.Message}
	}
	id, err := v.messenger.Show(ctx, notify.Message{
		Title: n.Title, Body: n.Body, Low: n.Low, Transient: n.Transient, Expires: time.Duration(min(max(n.Expires, 0), int(time.Hour/time.Millisecond))) * time.Millisecond, Replaces: n.Replaces,
	})
	if err != nil {
		return inside.Reply{Message: "not shown: " + err.Error()}
	}
	v.used(api.EventNotification, "notify", strings.ToValidUTF8(n.Title[:min(len(n.Title), maxTitleNoted)], ""), "")
	return inside.Reply{OK: true, Message: "shown on the desktop outside", ID: id}
}
