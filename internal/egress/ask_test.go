package egress

import (
	"context"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/policy"
)

// person answers questions by host; what it does not know it lets wait.
type person struct {
	mu      sync.Mutex
	asked   []policy.Target
	answers map[string]Answer
	hold    chan struct{}
	gone    atomic.Int32
}

func (p *person) ask(ctx context.Context, t policy.Target) Answer {
	p.mu.Lock()
	p.asked = append(p.asked, t)
	answer, ok := p.answers[t.Host]
	p.mu.Unlock()
	if !ok {
		select {
		case <-ctx.Done():
			p.gone.Add(1)
		case <-p.hold:
			return Once
		}
	}
	return answer
}

func (p *person) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

func withPerson(p *person) func(*Config) {
	p.hold = make(chan struct{})
	return func(c *Config) { c.Ask = p.ask }
}

func TestAsk(t *testing.T) {
	w := newWorld(t)
	for _, n := range []string{"once.example", "always.example", "no.example", "private.example"} {
		w.name(n, addrA)
	}
	w.names["private.example"][0] = w.names["private.example"][0].Prev()
	w.name("rebound.example", "10.0.0.1")
	w.serve(addrA+":9", echo)
	p := &person{answers: map[string]Answer{"once.example": Once, "always.example": Always, "no.example": No, "rebound.example": Always}}
	d := w.desk(rules(t, []string{"listed.example"}, "denied.example"), withPerson(p))
	for _, c := range []struct {
		to, code string
		asked    int // questions so far
	}{
		{"once.example:9", "", 1}, {"once.example:9", "", 2},
		{"always.example:9", "", 3}, {"ALWAYS.example.:9", "", 3}, {"always.example:8", "", 4},
		{"no.example:9", CodeNotListed, 5}, {"no.example:9", CodeNotListed, 6},
		{"denied.example:9", CodeDenied, 6}, {"127.0.0.1:9", CodeSpecial, 6}, {"localhost:9", CodeSpecial, 6}, {"198.18.0.1:3128", CodeSpecial, 6}, {"0x7f.1:9", CodeMalformed, 6},
		{"rebound.example:9", CodeSpecial, 7},
	} {
		_, _, resp := d.connect(c.to)
		want(t, c.to, resp.Header.Get("X-Carrel-Denied"), c.code)
		want(t, c.to+": questions", p.count(), c.asked)
	}
	// What a person allowed ends when it is denied, and is not asked again.
	conn, br, _ := d.connect("always.example:9")
	_, _ = io.WriteString(conn, "\x01")
	_, _ = br.ReadByte()
	d.e.SetRules(rules(t, nil))
	_, _ = io.WriteString(conn, "x")
	if b, err := br.ReadByte(); b != 'x' || err != nil {
		t.Errorf("rules that say nothing of it: %v", err)
	}
	d.e.SetRules(rules(t, nil, "always.example"))
	if _, err := br.ReadByte(); err == nil {
		t.Error("it goes on after it was denied")
	}
	_, _, resp := d.connect("always.example:9")
	want(t, "denied", resp.Header.Get("X-Carrel-Denied"), CodeDenied)
	want(t, "questions", p.count(), 7)
}

// Who wants the same waits for the same answer; who goes away withdraws it.
func TestOneQuestionAtATime(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.serve(addrA+":9", echo)
	p := &person{}
	d := w.desk(rules(t, nil), withPerson(p))
	var all sync.WaitGroup
	for range 10 {
		all.Add(1)
		go func() {
			defer all.Done()
			c := d.open()
			_, _ = c.Write(append([]byte{5, 1, 0}, socksTo("a.example", 9)...))
			b := make([]byte, 12)
			if _, err := io.ReadFull(c, b); err != nil || b[3] != 0 {
				t.Errorf("%v, %v", b, err)
			}
			c.Close()
		}()
	}
	for d.e.conns.Load() < 10 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond)
	close(p.hold)
	all.Wait()
	want(t, "questions", p.count(), 1)

	p.hold = make(chan struct{})
	c := d.open()
	_, _ = io.WriteString(c, "CONNECT b.example:9 HTTP/1.1\r\nHost: x\r\n\r\n")
	for p.count() < 2 {
		time.Sleep(time.Millisecond)
	}
	c.Close()
	for end := time.Now().Add(5 * time.Second); p.gone.Load() == 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	want(t, "withdrawn", p.gone.Load(), int32(1))
}

// Names that could be asked about have addresses.
func TestAskByName(t *testing.T) {
	w := newWorld(t)
	in := &inside{}
	w.name("new.example", addrA)
	w.serve(addrA+":443", echo)
	p := &person{answers: map[string]Answer{"new.example": Once}}
	d := w.desk(rules(t, []string{"listed.example:8443"}, "denied.example"), withInside(in), withPerson(p))
	want(t, "unknown", d.lookUp("new.example"), "Success 198.18.1.0")
	want(t, "listed", d.lookUp("listed.example"), "Success 198.18.1.1")
	want(t, "listeners", strings.Join(in.open(), " "), "198.18.1.0:22 198.18.1.0:443 198.18.1.0:80 198.18.1.1:22 198.18.1.1:443 198.18.1.1:80 198.18.1.1:8443")
	want(t, "denied", d.lookUp("denied.example"), "NameError")
	want(t, "special", d.lookUp("metadata.google.internal"), "NameError")
	c := in.dial(t, "198.18.1.0:443")
	_, _ = io.WriteString(c, "\x01")
	b := make([]byte, 1)
	_, err := c.Read(b)
	want(t, "error", err, nil)
	want(t, "questions", p.count(), 1)
}
