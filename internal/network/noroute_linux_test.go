package network

import (
	"os"
	"testing"
)

func TestNoRoutes(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want uint64
	}{
		"IPv4":        {"Ip: Forwarding OutNoRoutes ReasmOKs\nIp: 2 3 7\nIcmp: InMsgs\nIcmp: 9\n", 3},
		"IPv6":        {"Ip6InNoRoutes                   \t4\nIp6OutNoRoutes                  \t5\n", 5},
		"another":     {"Tcp: RtoAlgorithm OutNoRoutes\nTcp: 1 8\n", 0},
		"short":       {"Ip: Forwarding OutNoRoutes\nIp: 2\n", 0},
		"no number":   {"Ip: Forwarding OutNoRoutes\nIp: 2 x\nIp6OutNoRoutes y\n", 0},
		"nothing":     {"", 0},
		"names alone": {"Ip: Forwarding OutNoRoutes\n", 0},
	} {
		if got := noRoutes([]byte(c.text)); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if n := countNoRoute(os.Getpid()); n != nil {
		t.Error("the network of this process itself is counted")
	}
}
