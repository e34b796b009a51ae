package workspace

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"carrel/internal/api"
	"carrel/internal/broker"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/seccomp"

	"golang.org/x/sys/unix"
)

// brokered is the broker of one run with what it decides by and writes to.
type brokered struct {
	*broker.Broker
	fds    []int
	record *record

	mu      sync.Mutex
	denials []api.Denial
	refused int
}

// startBroker begins to answer the trapped calls of walls built with roots.
func (p *Prepared) startBroker(walls *sandbox.Walls, id string) (*brokered, error) {
	h, err := walls.TakeBroker()
	if err != nil {
		return nil, err
	}
	b := &brokered{fds: []int{h.Mirror, h.View}}
	listener, err := seccomp.NewListener(h.Listener)
	if err == nil {
		b.record, err = p.openRecord(id)
	}
	if err == nil {
		b.Broker, err = broker.New(broker.Config{
			Trap: trap{listener}, Mirror: h.Mirror, View: h.View, MountNS: h.MountNS, Roots: p.Plan.Roots,
			Decider: newDecider(p), Recorder: b.record, Refused: b.refuse, Umask: ownUmask(),
		})
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// endBroker takes over what a broker has to tell; b may be nil.
func (p *Prepared) endBroker(b *brokered) {
	if b == nil {
		return
	}
	b.close()
	p.denials = append(p.denials, b.denials...)
	if b.record.lost != nil {
		p.note("changes were refused because they could not be recorded: %v", b.record.lost)
	}
}

// close ends the broker after nothing inside is alive any more.
func (b *brokered) close() {
	if b.Broker != nil {
		b.Broker.Close()
	}
	for _, fd := range b.fds {
		unix.Close(fd)
	}
	b.fds = nil
	b.record.close()
}

// refuse keeps a denial of each refused change, up to a bound.
func (b *brokered) refuse(ch *broker.Change, v broker.Verdict) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refused++; b.refused > maxDenials {
		return
	}
	subject := ch.Path
	if ch.To != "" {
		subject = ch.To
	}
	subject = subject[:min(len(subject), maxSubject)]
	for _, d := range b.denials {
		if d.Subject == subject && d.Operation == ch.Op {
			return // programs try again
		}
	}
	b.denials = append(b.denials, api.Denial{
		Code: api.CodeFile, Operation: ch.Op, Subject: subject, Rule: v.Rule, Source: v.Source, Hint: v.Hint,
		Message: fmt.Sprintf("%s of %q was refused: %s", ch.Op, subject, v.Rule),
	})
}

// trap is the listener as the broker knows it: both name the kernel's struct.
type trap struct{ *seccomp.Listener }

func (t trap) Receive(c *broker.Call) error {
	return t.Listener.Receive((*seccomp.Notification)(c))
}

// decider decides by the policy, and by the names that are protected whether a
// rule speaks of them or not.
type decider struct {
	policy  *policy.Effective
	guarded []policy.Rule
}

func newDecider(p *Prepared) *decider {
	return &decider{policy: p.Policy, guarded: p.guarded.rules}
}

// Decide implements [broker.Decider].
func (d *decider) Decide(ch *broker.Change) broker.Verdict {
	if v := d.path(ch, ch.Path, ch.Kind); !v.Allowed || ch.To == "" {
		return v
	}
	return d.path(ch, ch.To, ch.Over)
}

func (d *decider) path(ch *broker.Change, path string, _ broker.Kind) broker.Verdict {
	for i := range d.guarded {
		if g := &d.guarded[i]; within(path, g.Path) || ch.Kind == broker.KindDir && moves(ch.Op) && within(g.Path, path) {
			return broker.Verdict{Rule: g.Source.Text, Source: "default", Hint: "--write " + g.Path}
		}
	}
	l := d.policy.Lookup(path)
	switch {
	case l.Protected:
		return broker.Verdict{Rule: "protected: " + ruleText(l.Rule), Source: sourceOf(l.Rule), Hint: "leave out the rule that protects it"}
	case l.Access == policy.Write || ch.Op == broker.OpRead && l.Access == policy.Read:
		return broker.Verdict{Allowed: true}
	case l.Access == policy.Deny:
		return broker.Verdict{Rule: "denied: " + ruleText(l.Rule), Source: sourceOf(l.Rule), Hint: "leave out the rule that denies it"}
	}
	return broker.Verdict{Rule: "read-only: " + ruleText(l.Rule), Source: sourceOf(l.Rule), Hint: "--write " + path}
}

func moves(op string) bool { return op == broker.OpRename || op == broker.OpExchange }

func ruleText(r *policy.Rule) string {
	switch {
	case r == nil:
		return "no rule"
	case r.Glob != "":
		return r.Glob
	}
	return r.Path
}

func sourceOf(r *policy.Rule) string {
	if r == nil {
		return "default"
	}
	return r.Source.String()
}

// record writes down every path that a run changes, at its first change and
// before it happens: one line with the operation and the quoted path (bytes,
// not UTF-8), and for renames and links the other one.
type record struct {
	mu      sync.Mutex
	file    *os.File
	touched map[string]struct{}
	lost    error
}

// maxTouched bounds the memory of one run's record; beyond it, paths are
// written each time.
const maxTouched = 500_000

func (p *Prepared) openRecord(id string) (*record, error) {
	r := &record{touched: make(map[string]struct{})}
	if p.state == nil {
		p.note("changes are not recorded: there is no state directory")
		return r, nil
	}
	dir := p.state.project(p.place.project) + "/changes"
	if err := makeDirs(dir); err != nil {
		return nil, fmt.Errorf("keeping a record of changes: %w", err)
	}
	var err error
	r.file, err = os.OpenFile(dir+"/"+id+".log", os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keeping a record of changes: %w", err)
	}
	return r, nil
}

// Before implements [broker.Recorder]. What cannot be recorded does not happen.
func (r *record) Before(ch *broker.Change) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.touched[ch.Path]
	_, knownTo := r.touched[ch.To]
	if known && (ch.To == "" || knownTo) {
		return nil
	}
	if len(r.touched) < maxTouched {
		r.touched[strings.Clone(ch.Path)] = struct{}{}
		if ch.To != "" {
			r.touched[strings.Clone(ch.To)] = struct{}{}
		}
	}
	if r.file == nil {
		return nil
	}
	line := append([]byte(ch.Op), ' ')
	line = strconv.AppendQuoteToASCII(line, ch.Path)
	if ch.To != "" {
		line = strconv.AppendQuoteToASCII(append(line, ' '), ch.To)
	}
	if _, err := r.file.Write(append(line, '\n')); err != nil {
		r.lost = err
		delete(r.touched, ch.Path)
		delete(r.touched, ch.To)
		return unix.EDQUOT
	}
	return nil
}

// After implements [broker.Recorder].
func (r *record) After(*broker.Change, error) {}

func (r *record) close() {
	if r != nil && r.file != nil {
		r.file.Close()
	}
}

// changed is how many paths the run has touched.
func (r *record) changed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.touched)
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
