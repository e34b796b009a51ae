package notify

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"carrel/internal/api"
	"carrel/internal/dbus"
)

// Pause is the least time between two notifications.
const Pause = 10 * time.Second

// Bounds of a notification, in characters, and of the time to send one.
const (
	maxSummary = 80
	maxBody    = 300
	sendTime   = 3 * time.Second
)

// Notifier tells of what waits. Its methods may be called at once, and on nil, where
// nobody is told.
type Notifier struct {
	name  string // of the workspace
	send  func(ctx context.Context, summary, body string) error
	pause time.Duration

	mu      sync.Mutex
	last    time.Time // when something was sent
	waiting int       // since then
	newest  api.Approval
	stands  string // what there is to tell of its agent, "" for nothing
	closed  bool
	timer   *time.Timer
	busy    sync.WaitGroup

	ended context.Context // by Close, which waits for no bus that says nothing
	end   context.CancelFunc
}

// New makes one for a workspace and the bus at an address. Nil says that this is none.
func New(name, address string) *Notifier {
	b, err := parse(address)
	if err != nil {
		return nil
	}
	n := &Notifier{name: name, pause: Pause, send: b.notify}
	n.ended, n.end = context.WithCancel(context.Background())
	return n
}

// Address is the session bus of an environment, "" for none. None is ever started.
func Address(getenv func(string) string) string {
	if a := getenv("DBUS_SESSION_BUS_ADDRESS"); a != "" {
		return a
	}
	if r := getenv("XDG_RUNTIME_DIR"); strings.HasPrefix(r, "/") {
		return "unix:path=" + dbus.EscapeAddress(r+"/bus")
	}
	return ""
}

// Tell tells of an operation that waits, now or, shortly after another one, together
// with the next. It waits for nothing.
func (n *Notifier) Tell(a api.Approval) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	n.waiting++
	n.newest = a
	n.plan()
}

// plan has what there is to tell sent; the lock is held.
func (n *Notifier) plan() {
	if n.timer == nil {
		n.timer = time.AfterFunc(max(0, n.pause-time.Since(n.last)), n.due)
		n.busy.Add(1)
	}
}

// stands are the states of an agent that a person is told.
var stands = map[string]string{api.TaskWaiting: "waits for you", api.TaskDone: "is done"}

// Stands tells how the agent of the workspace stands, where a person would want to know. One that
// goes on before it is told is not told of. It waits for nothing.
func (n *Notifier) Stands(state string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	if n.stands = stands[state]; n.stands != "" {
		n.plan()
	}
}

// Close lets nothing more be sent, and breaks off what is on its way.
func (n *Notifier) Close() {
	if n == nil {
		return
	}
	n.mu.Lock()
	n.closed = true
	if n.timer != nil && n.timer.Stop() {
		n.busy.Done()
	}
	n.mu.Unlock()
	n.end()
	n.busy.Wait()
}

// due sends what there is to tell. That nobody shows it is no reason for anything.
func (n *Notifier) due() {
	defer n.busy.Done()
	n.mu.Lock()
	if n.waiting == 0 && n.stands == "" {
		n.timer = nil
		n.mu.Unlock()
		return
	}
	summary, body := n.text()
	n.waiting, n.stands, n.last, n.timer = 0, "", time.Now(), nil
	n.mu.Unlock()
	ctx, cancel := context.WithTimeout(n.ended, sendTime)
	defer cancel()
	_ = n.send(ctx, summary, body)
}

// text is what is shown; the lock is held.
func (n *Notifier) text() (summary, body string) {
	if n.waiting == 0 {
		return plain("carrel: "+n.name+" "+n.stands, maxSummary), markup(plain("carrel task diff "+n.name+", carrel attach "+n.name, maxBody))
	}
	summary = "carrel: " + n.name + " waits for you"
	if n.waiting > 1 {
		return plain(summary, maxSummary), fmt.Sprintf("%d operations wait. carrel approvals lists them.", n.waiting)
	}
	a := &n.newest
	body = plain(a.Operation+" "+a.Subject, maxBody)
	return plain(summary, maxSummary), markup(body) + "\n" + markup(plain("until "+a.Deadline.Local().Format(time.TimeOnly)+": carrel approve "+a.ID, maxBody))
}

// plain keeps what can be shown of a text, on one line.
func plain(s string, most int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n++; n > most {
			b.WriteString("…")
			break
		}
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			r = '?'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// markup escapes what the body of a notification may give a meaning.
func markup(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
