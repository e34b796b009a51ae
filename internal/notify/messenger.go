package notify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds of what a program inside has shown: of its text in bytes, of how often, and of
// the earlier ones that it can replace.
const (
	MaxText     = 1 << 10
	maxLines    = 12
	burst       = 5
	refill      = 3 * time.Second // until it may show one more
	maxReplaced = 64
	maxExpires  = time.Minute
)

// Message is what a program inside wants shown.
type Message struct {
	Title, Body string // UTF-8, [MaxText] bytes each
	Low         bool   // of little urgency; there is none above normal
	Transient   bool
	Expires     time.Duration // 0: as the desktop has it
	Replaces    uint32        // the number of an earlier one, 0 for none
}

// Messenger shows what programs inside one workspace want told. Its methods may be
// called at once, and on nil, where there is no bus.
type Messenger struct {
	name string
	show func(ctx context.Context, n shown) (uint32, error)
	now  func() time.Time

	mu    sync.Mutex
	spent float64 // of the burst
	at    time.Time
	last  uint32            // number given
	host  map[uint32]uint32 // ours to the service's
}

// Why a notification is not shown.
var (
	ErrNoDesktop = errors.New("there is no desktop that shows notifications")
	ErrTooMany   = errors.New("too many notifications at once; wait a few seconds")
)

// NewMessenger makes one for a workspace and the bus at an address. Nil says that this
// is none.
func NewMessenger(name, address string) *Messenger {
	b, err := parse(address)
	if err != nil {
		return nil
	}
	return &Messenger{name: name, show: b.show, now: time.Now, host: make(map[uint32]uint32)}
}

// Show shows a message and gives its number, which is good for replacing it.
func (m *Messenger) Show(ctx context.Context, msg Message) (uint32, error) {
	for what, text := range map[string]string{"title": msg.Title, "body": msg.Body} {
		if len(text) > MaxText || !utf8.ValidString(text) {
			return 0, fmt.Errorf("the %s of a notification is UTF-8 of at most %d bytes", what, MaxText)
		}
	}
	if msg.Title == "" {
		return 0, errors.New("a notification has a title")
	}
	if m == nil {
		return 0, ErrNoDesktop
	}
	if !m.admit() {
		return 0, ErrTooMany
	}
	n := shown{summary: m.heading(msg.Title), body: markup(lines(msg.Body)), urgency: 1, transient: msg.Transient, expires: -1}
	if msg.Low {
		n.urgency = 0
	}
	if msg.Expires > 0 {
		n.expires = int32(min(msg.Expires, maxExpires).Milliseconds())
	}
	m.mu.Lock()
	n.replaces = m.host[msg.Replaces]
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	id, err := m.show(ctx, n)
	if err != nil {
		return 0, because(err)
	}
	return m.number(msg.Replaces, n.replaces, id), nil
}

// because tells apart that there is nobody, which is no mistake.
func because(err error) error {
	if errors.Is(err, errNobody) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return ErrNoDesktop
	}
	return fmt.Errorf("asking the desktop: %w", err)
}

// heading begins with what no other notification begins with.
func (m *Messenger) heading(title string) string {
	return plain("inside "+m.name, maxSummary) + ": " + plain(title, MaxText)
}

// lines keeps what can be shown of a text of a few lines.
func lines(s string) string {
	list := strings.SplitN(strings.TrimRightFunc(s, unicode.IsSpace), "\n", maxLines+1)
	if len(list) > maxLines {
		list[maxLines] = "…"
	}
	for i := range list {
		list[i] = plain(strings.ReplaceAll(strings.TrimSuffix(list[i], "\r"), "\t", " "), MaxText)
	}
	return strings.Join(list, "\n")
}

func (m *Messenger) admit() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	m.spent = max(0, m.spent-now.Sub(m.at).Seconds()/refill.Seconds())
	m.at = now
	if m.spent > burst-1 {
		return false
	}
	m.spent++
	return true
}

// number gives a notification one of our numbers: what it has if it replaces one.
func (m *Messenger) number(wanted, replaced, id uint32) uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if replaced == 0 || m.host[wanted] == 0 {
		m.last++
		wanted = m.last
		if m.last > maxReplaced {
			delete(m.host, m.last-maxReplaced)
		}
	}
	m.host[wanted] = id
	return wanted
}
