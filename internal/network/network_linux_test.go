package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/advice"
	"carrel/internal/api"
	"carrel/internal/egress"
	"carrel/internal/policy"
	"carrel/internal/statedir"
	"carrel/internal/supervisor"
)

// told is what a network has told of.
type told struct {
	mu      sync.Mutex
	denials []api.Denial
	notes   []string
	audited int
}

// opened makes the network of a workspace with a given policy, and what it tells.
func opened(t *testing.T, e *policy.Effective, change func(*Config)) (*Network, *told) {
	t.Helper()
	s := &told{}
	c := Config{
		Workspace: "ab12", Project: "/p", Policy: e, State: statedir.At(t.TempDir()), Most: 3, NetworkBy: "built in", UnknownBy: "a file",
		Audit: func(*api.Connection) { s.mu.Lock(); defer s.mu.Unlock(); s.audited++ },
		Deny:  func(list ...api.Denial) { s.denials = append(s.denials, list...) },
		Note:  func(format string, args ...any) { s.notes = append(s.notes, fmt.Sprintf(format, args...)) },
	}
	if change != nil {
		change(&c)
	}
	n, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n, s
}

// logged is what the log of the network holds.
func logged(t *testing.T, n *Network) []api.Connection {
	t.Helper()
	list, broken, err := statedir.Connections(n.c.State.Root(), nil)
	if err != nil || broken != 0 {
		t.Fatal(broken, err)
	}
	return list
}

// TestDialPort: a listed port is reached, what it carried is written down once, and no other port is
// tried.
func TestDialPort(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0") // a server of IPv6 alone
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).AddrPort().Port()
	go func() {
		if c, err := l.Accept(); err == nil {
			text, _ := io.ReadAll(c)
			fmt.Fprintf(c, "got %s", text)
			c.Close()
		}
	}()
	by := policy.Source{Layer: policy.LayerCommandLine, Text: "--host-port"}
	n, s := opened(t, &policy.Effective{HostPorts: []policy.Value[uint16]{{V: port, Source: by}}},
		func(c *Config) { c.HostPorts = []uint16{port, 1} })
	if _, err := n.DialPort(t.Context(), port-1); err == nil || !strings.Contains(err.Error(), fmt.Sprint(port-1)) {
		t.Errorf("a port that is not listed: %v", err)
	}
	c, err := n.DialPort(t.Context(), port)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(c, "hello")
	text, e := "", errors.Join(err, c.CloseWrite())
	if b, err := io.ReadAll(c); errors.Join(e, err) == nil {
		text = string(b)
	}
	if text != "got hello" {
		t.Errorf("%q", text)
	}
	c.Close()
	c.Close()
	if _, err := n.DialPort(t.Context(), 1); err == nil {
		t.Error("where no program listens a connection is made")
	}
	list := logged(t, n)
	if len(list) != 2 || s.audited != 2 {
		t.Fatalf("logged: %+v, audited %d times", list, s.audited)
	}
	if r := list[0]; r.Decision != "allowed" || r.Sent != 5 || r.Received != 9 || r.Rule != fmt.Sprintf("host port %d", port) ||
		r.Source != by.String() ||
		r.Address != netip.AddrPortFrom(netip.IPv6Loopback(), port).String() || r.Workspace != "ab12" {
		t.Errorf("logged: %+v", r)
	}
	if r := list[1]; r.Decision != "failed" || !strings.Contains(r.Reason, "refused") || r.Port != 1 {
		t.Errorf("logged: %+v", r)
	}
}

// TestPublishedPortThatIsTaken: it is told before anything starts, with another way, and what was
// taken before it is free again.
func TestPublishedPortThatIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port, other := l.Addr().(*net.TCPAddr).AddrPort().Port(), free.Addr().(*net.TCPAddr).AddrPort().Port()
	free.Close()
	c := Config{Published: []api.Published{{Inside: 80, Host: other}, {Inside: 8080, Host: port}}, Deny: func(...api.Denial) {},
		Policy: &policy.Effective{}}
	_, err = Open(c)
	var hint *advice.Error
	if !errors.As(err, &hint) || !strings.Contains(err.Error(), "publishing port 8080") ||
		!strings.Contains(hint.Hint, "--publish 8080:OTHER") {
		t.Errorf("%v, %+v", err, hint)
	}
	again, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", other))
	if err != nil {
		t.Errorf("the other port stays taken: %v", err)
	} else {
		again.Close()
	}
}

// TestRefusalsAreToldOnce: what programs try again and again is one denial, there are so many, their
// subjects are bounded, and in the end it is told that there were more.
func TestRefusalsAreToldOnce(t *testing.T) {
	n, s := opened(t, &policy.Effective{}, nil)
	for range 5 {
		for i := range 3 {
			n.strangers(api.Published{Inside: 80, Host: uint16(8000 + i)}, "it is another user's")
		}
	}
	n.Close()
	if len(s.denials) != 3 || len(s.notes) > 0 || s.denials[2].Subject != "localhost:8002" ||
		!strings.Contains(s.denials[2].Hint, "http://localhost:8002/") {
		t.Errorf("told: %+v, %q", s.denials, s.notes)
	}
	if list := logged(t, n); len(list) != 15 || list[0].Reason != "it is another user's" || list[0].Decision != "refused" {
		t.Errorf("%d are logged, want 15", len(list))
	}
	n, s = opened(t, &policy.Effective{}, nil)
	for i := range 4 {
		n.deny(api.Denial{Subject: strings.Repeat("x", 10*maxSubject) + fmt.Sprint(i)})
	}
	n.Close()
	n.Close()
	if len(s.denials) != 3 || len(s.denials[0].Subject) != maxSubject || len(s.notes) != 1 ||
		!strings.Contains(s.notes[0], "more than 3 different") {
		t.Errorf("told: %d, %q", len(s.denials), s.notes)
	}
	var heard []string
	n, s = opened(t, &policy.Effective{}, func(c *Config) { c.Heard = func(d api.Denial) { heard = append(heard, d.Subject) } })
	n.deny(api.Denial{Subject: "a"})
	n.Close()
	if len(heard) != 1 || len(s.denials) != 0 {
		t.Errorf("heard %q at once, and %+v at the end", heard, s.denials)
	}
}

// TestLogThatCannotBeWritten: it is told once that the log is not complete, and nothing stops for it.
func TestLogThatCannotBeWritten(t *testing.T) {
	n, s := opened(t, &policy.Effective{}, nil)
	if err := os.Mkdir(n.c.State.Root()+"/network.jsonl", 0o700); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		n.log(api.Connection{Decision: "allowed", Reason: strings.Repeat("\u00e9", maxReason)})
	}
	n.Close()
	if len(s.notes) != 1 || !strings.Contains(s.notes[0], "not complete") {
		t.Errorf("notes: %q", s.notes)
	}
}

// decided is a policy of listed hosts, under a ceiling or none.
func decided(t *testing.T, ceiling *policy.Ceiling, allow, deny []string) *policy.Effective {
	t.Helper()
	by := policy.Source{Layer: policy.LayerUser, Text: "a file"}
	values := func(list []string) (out []policy.Value[string]) {
		for _, v := range list {
			out = append(out, policy.Value[string]{V: v, Source: by})
		}
		return out
	}
	r := policy.Request{Network: &policy.Value[policy.NetworkMode]{V: policy.NetFiltered, Source: by}, AllowHosts: values(allow),
		DenyHosts: values(deny),
		OnUnknown: &policy.Value[policy.OnUnknown]{V: policy.UnknownAsk, Source: by}}
	if ceiling != nil {
		ceiling.AllowHosts = values([]string{"*.example.com:443"})
	}
	e, err := policy.Decide(policy.Scope{Cwd: "/p", Project: "/p", Home: "/h", Tmp: "/tmp"}, ceiling,
		[]policy.Layer{{Kind: policy.LayerUser, Request: r}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestHostsThatAreAdded: a person adds and takes away while it runs; what a rule denies stays denied,
// and no addition is more than the ceiling grants. Each refusal says by what.
func TestHostsThatAreAdded(t *testing.T) {
	n, _ := opened(t, decided(t, new(policy.Ceiling), []string{"a.example.com:443"}, []string{"no.example.com"}), nil)
	if n.Hosts() != nil {
		t.Error("hosts are added where nothing looks at them")
	}
	n.newEngine(nil)
	change := n.Hosts()
	reached := func(host string) bool {
		return n.policy.HostRules().Decide(policy.Target{Host: host, Port: 443}).Allowed()
	}
	if err := change(true, "b.example.com:443"); err != nil || !reached("b.example.com") || !reached("a.example.com") {
		t.Errorf("added: %v", err)
	}
	if err := change(false, "a.example.com"); err != nil || reached("a.example.com") || !reached("b.example.com") {
		t.Errorf("denied: %v", err)
	}
	for rule, want := range map[string]struct{ code, says string }{
		"a.example.com:443":  {api.CodeNetwork, "denied by the rule"},
		"no.example.com:443": {api.CodeNetwork, `"no.example.com"`},
		"c.example.net:443":  {api.CodeCeiling, "allows other hosts only"},
		"c.example.com:80":   {api.CodeCeiling, "allows other hosts only"},
	} {
		var d *api.Denial
		if err := change(true, rule); !errors.As(err, &d) || d.Code != want.code || d.Operation != api.OpNetAllow || d.Subject != rule ||
			d.Hint == "" ||
			!strings.Contains(d.Message+d.Rule, want.says) {
			t.Errorf("%s: %+v, want %+v", rule, err, want)
		}
		if host, _, _ := strings.Cut(rule, ":"); reached(host) {
			t.Errorf("%s is reached though it was refused", host)
		}
	}
	if err := change(true, "a b"); err == nil {
		t.Error("what is no host was added")
	}
}

// TestAsk: a host that no rule names is put before a person, with all that they may answer; what
// they said no to is not asked again, and nothing is asked that the ceiling would not grant.
func TestAsk(t *testing.T) {
	n, _ := opened(t, decided(t, new(policy.Ceiling), []string{"a.example.com:443"}, nil), nil)
	target := policy.Target{Host: "b.example.com", Port: 443}
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if n.ask(short, target) != egress.No {
		t.Error("allowed before there is a person to ask")
	}
	dir, err := os.MkdirTemp("/tmp", "n") // names of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s, err := supervisor.Serve(supervisor.Config{ID: "ab12", Project: "/p", Dirs: []string{dir + "/carrel"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	n.AnswersTo(s)
	found, err := supervisor.Find([]string{dir + "/carrel"})
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	answered := make(chan bool)
	go func() { answered <- n.ask(t.Context(), target) != egress.No }()
	var waits []api.Approval
	for end := time.Now().Add(20 * time.Second); len(waits) == 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		if err := found[0].Stream(t.Context(), api.Request{Op: api.OpApprovals}, func(r api.Reply) error {
			if r.Approval != nil {
				waits = append(waits, *r.Approval)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if len(waits) != 1 || waits[0].Subject != "b.example.com:443" || len(waits[0].Scopes) != 3 || waits[0].Source != "a file" {
		t.Fatalf("what waits: %+v", waits)
	}
	if _, err := found[0].Call(t.Context(), api.Request{Op: api.OpDeny, ID: waits[0].ID}); err != nil {
		t.Fatal(err)
	}
	if <-answered {
		t.Error("the person said no")
	}
	for _, never := range []policy.Target{target, {Host: "b.example.com", Port: 80}, {Host: "b.example.net", Port: 443}} {
		if n.ask(t.Context(), never) != egress.No { // or this waits for an answer
			t.Errorf("%+v is reached", never)
		}
	}
}
