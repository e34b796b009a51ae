package session

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"carrel/internal/api"
	"carrel/internal/broker"
	"carrel/internal/changelog"
	"carrel/internal/decide"
	"carrel/internal/guard"
	"carrel/internal/inside"
	"carrel/internal/machine"
	"carrel/internal/notices"
	"carrel/internal/remask"
	"carrel/internal/sandbox"
	"carrel/internal/seccomp"
	"carrel/internal/steps"
	"carrel/internal/supervisor"

	"golang.org/x/sys/unix"
)

// brokered is the broker of one run with what it decides by and writes to.
type brokered struct {
	*broker.Broker
	fds      []int
	view     int // one of fds: the root as commands see it
	record   *changelog.Log
	recorder *steps.Recorder
	judge    *guard.Guard
	own      *remask.OwnFiles
	lent     bool         // record and recorder are the lender's
	machine  *machine.Run // whose interceptor is in the broker's place, nil for none

	heard   func(api.Denial) // see [Session]
	most    int              // different ones
	mu      sync.Mutex
	denials []api.Denial
	told    map[string]bool // operation and path of denials
	untold  bool            // there were more than notices.MaxDenials
}

// Hold keeps all changes waiting, or lets them go.
func (b *brokered) Hold(hold bool) {
	if b.machine != nil {
		b.machine.Hold(hold)
		return
	}
	b.Broker.Hold(hold)
}

// startBroker begins to answer the trapped calls of walls built with roots.
func (s *Session) startBroker(walls *sandbox.Walls, id string) (*brokered, error) {
	h, err := walls.TakeBroker()
	if err != nil {
		return nil, err
	}
	b := &brokered{fds: []int{h.Mirror, h.View, h.Grants}, view: h.View, heard: s.Heard(), most: s.MostDenials(), own: new(remask.OwnFiles)}
	listener, err := seccomp.NewListener(h.Listener)
	if main := s.lentBroker; main != nil {
		b.lent, b.record, b.recorder, b.own = true, main.record, main.recorder, main.own
	}
	guards := s.Guards(b.own)
	if main := s.lentBroker; main != nil {
		guards.With = main.judge
	}
	b.judge = guard.New(guards)
	if err == nil && !b.lent {
		b.record, err = changelog.Open(s.RecordsAt(), id, s.Request.Stays)
	}
	if err == nil && !b.lent {
		b.recorder, err = s.openSteps(id, walls.PID())
	}
	if err == nil {
		b.Broker, err = broker.New(broker.Config{
			Trap: trap{listener}, Mirror: h.Mirror, View: h.View, MountNS: h.MountNS, Level: h.Level, Grants: h.Grants, Roots: s.Plan.Roots,
			Decider: keepingWhole(s.Decision, b.judge), Recorder: recording{b.record, b.recorder, b.judge, b.own, b.refuse}, Refused: b.refuse, Umask: ownUmask(), Bind: walls.Bind,
			Reads: s.TrapsReads, Programs: s.Policy.Programs != nil,
			Bare: s.Engine() == sandbox.EngineLandlock, Free: walls.Written, Alone: aloneInProject(s.Decision),
			Cuts: s.Plan.Landlock.Files && s.Engine() != sandbox.EngineLandlock,
		})
	}
	if err != nil {
		_ = b.close(api.ExitOurs)
		return nil, err
	}
	return b, nil
}

// aloneInProject keeps the brokers of several runs in one project apart, where one decides
// by what all of them have made. nil without a state directory.
func aloneInProject(d *decide.Decision) func() (func(), error) {
	if d.State == nil {
		return nil
	}
	at := d.State.Project(d.Place.Project) + "/alone"
	return func() (func(), error) {
		f, err := os.OpenFile(at, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		for began := time.Now(); ; time.Sleep(time.Millisecond) {
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
			if err == nil {
				return func() { f.Close() }, nil
			}
			if time.Since(began) > alonePatience {
				f.Close()
				return nil, unix.EAGAIN
			}
		}
	}
}

// alonePatience is how long a run waits for another to have made a piece of a git directory.
const alonePatience = 2 * time.Second

// recording is a record of which the decider learns what has been done.
type recording struct {
	*changelog.Log
	recorder *steps.Recorder
	judge    *guard.Guard
	own      *remask.OwnFiles
	refuse   broker.Refused
}

// Before implements [broker.Recorder].
func (j recording) Before(ch *broker.Change) error {
	err := j.Log.Before(ch)
	if err == nil {
		if err = j.recorder.Before(ch); err != nil {
			j.recorder.Deny(ch, err, j.refuse)
		}
	}
	if err == nil {
		j.own.Before(ch)
	}
	return err
}

// After implements [broker.Recorder].
func (j recording) After(ch *broker.Change, err error) {
	j.own.After(ch, err)
	j.recorder.After(ch, err)
	if err == nil {
		j.judge.Made(ch)
	}
}

// mark begins or ends a step of the history; b may be nil.
func (b *brokered) mark(begin bool, by steps.Marker, m inside.Mark) error {
	if b == nil {
		return errors.New("this run keeps no history")
	}
	return b.recorder.Mark(begin, by, m)
}

// steps are what the broker writes to, nil without history; b may be nil.
func (b *brokered) steps() *steps.Recorder {
	if b == nil {
		return nil
	}
	return b.recorder
}

// endBroker takes over what a broker has to tell; b may be nil.
func (s *Session) endBroker(b *brokered, r *api.Result) {
	if b == nil {
		return
	}
	if err := b.close(r.Exit); err != nil {
		s.Note("%v", err)
	}
	s.kept = b.recorder.Segments()
	s.Deny(b.denials...)
	s.made = madeNames{b.judge.Expected, b.judge.Removable, b.judge.Hidden()}
	r.Listed = b.judge.Names()
	if b.judge.More() {
		s.Note("more than %d names that can run code later were made inside; the others are only in the record of changes", guard.MaxListed)
	}
	if b.untold {
		s.Note("more than %d different changes were refused; the others are not told", b.most)
	}
	s.AddNotes(b.recorder.Notes()...)
	if err := b.record.Lost(); err != nil {
		s.Note("changes were refused because they could not be recorded: %v", err)
	}
}

// close ends the broker after nothing inside is alive any more.
func (b *brokered) close(exit int) error {
	if b.Broker != nil {
		b.Broker.Close()
	}
	for _, fd := range b.fds {
		unix.Close(fd)
	}
	b.fds = nil
	if b.lent {
		return nil
	}
	b.record.Close()
	return b.recorder.Close(exit)
}

// refuse keeps a denial of each refused change, up to a bound.
func (b *brokered) refuse(ch *broker.Change, v broker.Verdict) {
	b.mu.Lock()
	defer b.mu.Unlock()
	subject := ch.Path
	if ch.To != "" {
		subject = ch.To
	}
	key := ch.Op + " " + subject
	if b.told[key] {
		return // programs try again, which must not leave less room for others
	}
	if b.untold = b.untold || len(b.told) >= b.most; b.untold {
		return
	}
	if b.told == nil {
		b.told = make(map[string]bool)
	}
	b.told[key] = true
	subject = shortened(subject)
	code := api.CodeFile
	if ch.Op == broker.OpExec {
		code = api.CodeProgram
	}
	d := api.Denial{
		Code: code, Operation: ch.Op, Subject: subject, Rule: v.Rule, Source: v.Source, Hint: v.Hint,
		Message: fmt.Sprintf("%s of %q was refused: %s", ch.Op, subject, v.Rule),
	}
	if b.heard != nil {
		b.heard(d)
		return
	}
	b.denials = append(b.denials, d)
}

// shortened leaves out the middle of a path that is too long to be told whole:
// what was meant is at its end.
func shortened(path string) string {
	const head, gap = notices.MaxSubject / 4, "..."
	if len(path) <= notices.MaxSubject {
		return strings.Clone(path)
	}
	return path[:head] + gap + path[len(path)-(notices.MaxSubject-head-len(gap)):]
}

// trap is the listener as the broker knows it: both name the kernel's struct.
type trap struct{ *seccomp.Listener }

func (t trap) Receive(c *broker.Call) error {
	return t.Listener.Receive((*seccomp.Notification)(c))
}

// ownUmask reads the umask that the first command inherits from us.
func ownUmask() int {
	text, err := os.ReadFile("/proc/self/status")
	if err == nil {
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "Umask:"); ok {
				if n, err := strconv.ParseUint(strings.TrimSpace(rest), 8, 16); err == nil {
					return int(n)
				}
			}
		}
	}
	return 0o022
}

// tellsListed gives what tells of each name that is listed: an event, and a record beside
// the denials.
func tellsListed(d *decide.Decision, desk *supervisor.Server, id string) func(at string) {
	times := 0
	return func(at string) {
		n := api.Denial{Time: time.Now(), Workspace: id, Project: d.Place.Project, Code: api.CodeListed, Operation: "create", Subject: shortened(at),
			Rule: "a name that can make programs outside run code", Source: "default"}
		n.Message = fmt.Sprintf("%q was made or changed inside, and was not refused: it can make programs outside run code; look at it first", n.Subject)
		desk.Emit(api.Event{Kind: api.EventListed, Text: n.Message})
		if times++; times <= notices.MaxDenials && d.State != nil {
			_ = d.State.LogDenial(n) // the summary names it as well
		}
	}
}

// keepingWhole adds to a decider what the engine has no mounts for.
func keepingWhole(d *decide.Decision, judge broker.Decider) broker.Decider {
	if d.Engine() != sandbox.EngineLandlock && d.Engine() != sandbox.EngineLima {
		return judge
	}
	whole, names := sandbox.Guarded(d.Plan)
	return guard.KeepWhole(judge, whole, names)
}
