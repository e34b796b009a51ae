//go:build linux

package e2e

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// proxyAt is where the proxy listens in every workspace, nameServerIn its
// name server.
const (
	proxyAt      = "198.18.0.1:3128"
	nameServerIn = "198.18.0.1:53"
)

// talk is one thing that is said to the proxy, and how it answers.
type talk struct {
	say  string
	want []string // the answer begins with one of these
}

// talks runs them all in one workspace and looks at the answers.
func (w *world) talks(flags []string, list []talk) {
	w.t.Helper()
	var args []string
	for _, one := range list {
		args = append(args, "say", proxyAt, strconv.Quote(one.say), "--")
	}
	for i, line := range strings.Split(w.attack(flags, args[:len(args)-1]...), "\n") {
		got, err := strconv.Unquote(strings.TrimPrefix(line, "ok "))
		if err != nil {
			got = line
		}
		if !slices.ContainsFunc(list[i].want, func(want string) bool { return strings.HasPrefix(got, want) && (want != "" || got == "") }) {
			w.t.Errorf("%.200q: the proxy says %.300q, want one of %q", list[i].say, got, list[i].want)
		}
	}
}

func plainGet(host string) string {
	return fmt.Sprintf("GET http://%s/ HTTP/1.1\r\nHost: %[1]s\r\nConnection: close\r\n\r\n", host)
}

func connectTo(hostport string) string {
	return fmt.Sprintf("CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", hostport)
}

func socksTo(command byte, host string, port uint16) string {
	return "\x05\x01\x00\x05" + string([]byte{command}) + "\x00\x03" + string([]byte{byte(len(host))}) + host + string([]byte{byte(port >> 8), byte(port)})
}

var (
	allowed  = []string{"HTTP/1.1 200"}
	refusals = []string{"HTTP/1.1 403", "HTTP/1.1 400"}
)

// TestFilteredSpellings: however a program spells a host, it is what it means
// that is decided on.
func TestFilteredSpellings(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		n := newInternet(t)
		w := n.world(p)
		n.name("api.example.com", "xn--bcher-kva.example", "sub.wild.example", "a.sub.wild.example", "wild.example", "a.deep.example", "deep.example")
		n.services()
		flags := []string{"--network", "filtered", "--allow-host", "api.example.com", "--allow-host", "ports.example.com:8080", "--allow-host", "bücher.example", "--allow-host", "*.wild.example",
			"--allow-host", "**.deep.example", "--deny-host", "no.deep.example", "--allow-host", "93.184.216.77", "--allow-host", "10.1.2.0/30"}
		var list []talk
		for _, host := range []string{"api.example.com", "API.Example.COM", "api.example.com.", "api.example.com:80", "xn--bcher-kva.example", "XN--BCHER-KVA.example.",
			"sub.wild.example", "a.deep.example", "deep.example", "93.184.216.77", "10.1.2.3"} {
			list = append(list, talk{plainGet(host), allowed})
		}
		for _, host := range []string{"api.example.com..", "api.example.com%00.evil.test", "api.example.com@evil.test", "user@api.example.com", "evil.test#api.example.com",
			"ports.example.com", "ports.example.com:81", "apixexample.com", "example.com", "wild.example", "no.deep.example", "NO.deep.example.", "93.184.216.78", "[::ffff:93.184.216.78]",
			"127.0.0.1", "127.1", "0x7f.1", "0177.0.0.1", "2130706433", "0", "0.0.0.0", "127.0.0.1.", "localhost", "LOCALHOST.", "foo.localhost", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
			"[0:0:0:0:0:0:0:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "10.1.2.4", "10.0.0.1", "0xa.1.2.4", "167838212", "[::ffff:10.1.2.4]", "169.254.169.254", "[::ffff:169.254.169.254]",
			"[fe80::1%25eth0]", "[fe80::1%eth0]", "[fd00:9::1]", "192.168.1.1", "172.16.0.1", "100.64.0.1", "198.18.0.1", "198.18.0.7", hostAddress, gateway, "224.0.0.1", "255.255.255.255"} {
			list = append(list, talk{plainGet(host), refusals})
		}
		for _, host := range []string{"api.example.com", "Api.Example.com.", "93.184.216.77", "10.1.2.3"} {
			list = append(list, talk{connectTo(host + ":443"), allowed}, talk{socksTo(1, host, 443), []string{"\x05\x00\x05\x00"}})
		}
		for _, host := range []string{"127.0.0.1", "127.1", "localhost", "10.1.2.4", "169.254.169.254", "evil.test", "api.example.com:443:443"} {
			list = append(list, talk{connectTo(host + ":443"), refusals}, talk{socksTo(1, host, 443), []string{"\x05\x00\x05\x02", "\x05\x00\x05\x01"}})
		}
		n.visits.take()
		w.talks(flags, list)
		n.visitedOnly("api.example.com", "xn--bcher-kva.example", "sub.wild.example", "a.deep.example", "deep.example", "93.184.216.77", "10.1.2.3")
	})
}

// services are programs on the host's loopback that a workspace must not reach:
// each visit is written down.
func (n *internet) services() {
	n.t.Helper()
	for _, at := range []string{"127.0.0.1:80", "127.0.0.1:443", "[::1]:80", hostAddress + ":80", hostAddress + ":443"} {
		go eachConn(n.listen(n.host, "tcp", at), func(c net.Conn) {
			n.visits.add("host", c.LocalAddr(), "")
			_, _ = c.Write([]byte(greeting))
		})
	}
}

// visitedOnly wants all visits to have been to these names or addresses.
func (n *internet) visitedOnly(hosts ...string) {
	n.t.Helper()
	for _, v := range n.visits.take() {
		if !slices.ContainsFunc(hosts, func(host string) bool {
			addr, err := netip.ParseAddr(host)
			if err != nil {
				addr = n.address(host)
			}
			return strings.Contains(v, " "+addr.String()+":") && !strings.HasPrefix(v, "host ")
		}) {
			n.t.Errorf("visited: %q; listed: %q", v, hosts)
		}
	}
}

// TestFilteredRebinding: a listed name leads nowhere special, whatever it
// resolves to and when.
func TestFilteredRebinding(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		n := newInternet(t)
		w := n.world(p)
		n.services()
		public := []netip.Addr{n.address("rebind.example.com")}
		var list []talk
		for i, special := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "0.0.0.0", "::1", "::ffff:127.0.0.1", "fd00:9::1", "64:ff9b::7f00:1", hostAddress, "198.18.0.1"} {
			turns := fmt.Sprintf("turn%d.rebind.example.com", i)
			n.names.turns(turns, public, []netip.Addr{netip.MustParseAddr(special)})
			list = append(list, talk{plainGet(turns), allowed})
			for range 2 {
				list = append(list, talk{plainGet(turns), []string{"HTTP/1.1 403"}}, talk{connectTo(turns + ":443"), []string{"HTTP/1.1 403"}}, talk{socksTo(1, turns, 80), []string{"\x05\x00\x05\x02"}})
			}
			for k, both := range [][]netip.Addr{{public[0], netip.MustParseAddr(special)}, {netip.MustParseAddr(special), public[0]}} {
				mixed := fmt.Sprintf("mixed%d%d.rebind.example.com", i, k)
				n.names.set(mixed, both...)
				list = append(list, talk{plainGet(mixed), []string{"HTTP/1.1 403"}})
			}
		}
		n.names.set("named.rebind.example.com", netip.MustParseAddr("10.1.2.3"))
		list = append(list, talk{plainGet("named.rebind.example.com"), allowed})
		w.talks([]string{"--network", "filtered", "--allow-host", "*.rebind.example.com", "--allow-host", "10.1.2.3"}, list)
		n.visitedOnly("rebind.example.com", "10.1.2.3")
	})
}

// TestFilteredNames: the name server inside answers at once and from its own
// pool; nobody outside hears of a question.
func TestFilteredNames(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		n := newInternet(t)
		w := n.world(p)
		n.name("api.example.com", "data.tunnel.example.com")
		n.names.set("six.example.com", netip.MustParseAddr("2606:2800:220::10"))
		flags := []string{"--network", "filtered", "--allow-host", "api.example.com", "--allow-host", "six.example.com", "--allow-host", "*.tunnel.example.com"}
		var args, want []string
		ask := func(kind, name, answer string) {
			args, want = append(args, "query", nameServerIn, kind, name, "--"), append(want, answer)
		}
		for _, kind := range []string{"AAAA", "TXT", "MX", "NULL", "SRV", "HTTPS", "ANY", "NS"} {
			ask(kind, "api.example.com.", "")
		}
		ask("A", "api.example.com.", "ok Success 1")
		ask("A", "API.example.COM.", "ok Success 1")
		ask("A", "other.example.com.", "ok NameError 0")
		ask("TXT", "other.example.com.", "ok NameError 0")
		ask("PTR", "10.216.184.93.in-addr.arpa.", "")
		for i := range 40 {
			ask("A", fmt.Sprintf("%032d.tunnel.example.com.", i), "ok Success 1")
			ask("A", fmt.Sprintf("%032d.evil.test.", i), "ok NameError 0")
		}
		n.cable.start()
		for i, got := range strings.Split(w.attack(flags, args[:len(args)-1]...), "\n") {
			if got != want[i] && (want[i] != "" || got != "ok Success 0" && got != "ok Refused 0" && got != "ok NameError 0") {
				t.Errorf("%q: %q, want %q", args[i*5:i*5+4], got, want[i])
			}
		}
		if asked := n.names.questions(); len(asked) > 0 {
			t.Errorf("questions outside: %q", asked)
		}
		n.cable.only("questions inside")
		if got := w.attack(flags, "lookup", "api.example.com"); !strings.HasPrefix(got, "ok 198.1") {
			t.Errorf("a name inside has the address %q", got)
		}
		if got := w.attack(flags, "tls", "data.tunnel.example.com:443"); !strings.HasPrefix(got, "ok "+greeting) {
			t.Errorf("a connection: %q", got)
		}
		if asked := n.names.questions(); !slices.Equal(asked, []string{"A data.tunnel.example.com", "AAAA data.tunnel.example.com"}) {
			t.Errorf("questions at a connect: %q", asked)
		}
		if got := w.attack(flags, "tls", "six.example.com:443", "--", "get", "https://six.example.com/"); got != "ok reached GET six.example.com\nok 200 reached GET six.example.com" {
			t.Errorf("a name with a v6 address alone: %q", got)
		}
	})
}
