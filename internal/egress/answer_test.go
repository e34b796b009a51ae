package egress

import (
	"context"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"

	"carrel/internal/policy"
	"carrel/internal/synhold"
)

// TestAnswer: what a connection is answered with before it is accepted.
func TestAnswer(t *testing.T) {
	listed := []policy.Value[string]{{V: "up.example"}, {V: "down.example"}, {V: "away.example"}, {V: "own.example"}}
	rules, err := policy.CompileHosts(listed, nil)
	if err != nil {
		t.Fatal(err)
	}
	far := map[string]string{
		"up.example": "93.184.216.1", "down.example": "93.184.216.2", "away.example": "93.184.216.3", "own.example": "127.0.0.1",
	}
	var told []Attempt
	e := New(Config{
		Rules: rules,
		Resolve: func(_ context.Context, name string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr(far[name])}, nil
		},
		Machine: func(netip.Addr) bool { return false },
		Dial: func(_ context.Context, at netip.AddrPort) (net.Conn, error) {
			switch at.Addr().String() {
			case far["up.example"]:
				a, _ := net.Pipe()
				return a, nil
			case far["down.example"]:
				return nil, os.NewSyscallError("connect", syscall.ECONNREFUSED)
			}
			return nil, os.NewSyscallError("connect", syscall.ENETUNREACH)
		},
		Attempt: func(a Attempt) { told = append(told, a) },
	})
	defer e.Close()
	for i, c := range []struct {
		name string
		want synhold.Answer
		met  bool
	}{
		{"up.example", synhold.Accepted, true}, {"down.example", synhold.Refused, false}, {"away.example", synhold.Unreachable, false},
		{"own.example", synhold.Accepted, false}, {"other.example", synhold.Accepted, false}, // refused in words
	} {
		to, _ := e.pool.address(c.name)
		ends := synhold.Ends{From: netip.AddrPortFrom(to, uint16(4000+i)), To: netip.AddrPortFrom(to, 443)}
		if got := e.Answer(ends); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
		if _, met := e.arrived.Take(ends); met != c.met {
			t.Errorf("%s: reached already is %v", c.name, met)
		}
	}
	if len(told) != 2 || told[0].Decision != Failed || told[1].Host != "away.example" {
		t.Errorf("told: %+v", told)
	}
}
