package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestConnectCarriesWhatIsListed(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.serve(addrA+":4444", echo)
	d := w.desk(rules(t, []string{"a.example:4444"}))
	c, br, resp := d.connect("A.Example.:4444")
	want(t, "status", resp.StatusCode, 200)
	text := strings.Repeat("\x00binary\x01", 1000)
	_, _ = io.WriteString(c, text)
	_ = c.CloseWrite()
	back, err := io.ReadAll(br)
	if err != nil || string(back) != text {
		t.Errorf("%d bytes came back, %v", len(back), err)
	}
	a := w.waitAttempt(0)
	a.Time, a.Duration = time.Time{}, 0
	want(t, "attempt", a, Attempt{Protocol: "connect", Host: "a.example", Port: 4444, Address: addrA, Decision: Allowed, Code: CodeListed,
		Rule: "a.example:4444", RuleSource: "rule 0", Sent: int64(len(text)), Received: int64(len(text))})
	want(t, "names resolved", strings.Join(w.lookups(), " "), "a.example")
}

// What is refused is never resolved and never dialled, and says why.
func TestConnectRefusals(t *testing.T) {
	for _, c := range []struct{ to, code, status string }{
		{"b.example:443", CodeNotListed, "403"},
		{"a.example:444", CodeNotListed, "403"},
		{"sub.a.example:443", CodeNotListed, "403"},
		{"a.example.evil.example:443", CodeNotListed, "403"},
		{"bad.w.example:443", CodeDenied, "403"},
		{"127.0.0.1:443", CodeSpecial, "403"},
		{"[::1]:443", CodeSpecial, "403"},
		{"[::ffff:10.0.0.1]:443", CodeSpecial, "403"},
		{"[fe80::1%25eth0]:443", CodeSpecial, "403"},
		{"localhost:443", CodeSpecial, "403"},
		{"169.254.169.254:80", CodeSpecial, "403"},
		{"0x7f.1:443", CodeMalformed, "400"},
		{"2130706433:443", CodeMalformed, "400"},
		{"0177.0.0.1:443", CodeMalformed, "400"},
		{"127.1:443", CodeMalformed, "400"},
		{"a.example%2e:443", CodeMalformed, "400"},
		{"a..example:443", CodeMalformed, "400"},
		{"a.example", CodeMalformed, "400"},
		{"a.example:", CodeMalformed, "400"},
		{"a.example:0", CodeMalformed, "400"},
		{"a.example:99999", CodeMalformed, "400"},
		{"a.example:+443", CodeMalformed, "400"},
		{"198.18.0.1:3128", CodeSpecial, "403"},
		{"198.18.7.7:443", CodeSpecial, "403"},
		{"[::ffff:198.18.0.1]:3128", CodeSpecial, "403"},
	} {
		t.Run(c.to, func(t *testing.T) {
			w := newWorld(t)
			w.name("a.example", addrA)
			d := w.desk(rules(t, []string{"a.example:443", "*.w.example"}, "bad.w.example"))
			out := d.say("CONNECT " + c.to + " HTTP/1.1\r\nHost: x\r\n\r\n")
			has(t, "answer", out, "HTTP/1.1 "+c.status+" ", "X-Carrel-Denied: "+c.code+"\r\n", "carrel: ", " is not reachable from here: ")
			a := w.waitAttempt(0)
			want(t, "decision", a.Decision+" "+a.Code, Refused+" "+c.code)
			if len(w.lookups())+len(w.dials()) > 0 {
				t.Errorf("resolved %v, dialled %v", w.lookups(), w.dials())
			}
		})
	}
}

// A name is resolved once; any address of it that is special ends it.
func TestAddressesAreChecked(t *testing.T) {
	for _, c := range []struct {
		name  string
		addrs []string
		code  string
	}{
		{"public", []string{addrA}, ""},
		{"loopback", []string{"127.0.0.1"}, CodeSpecial},
		{"one of two", []string{addrA, "10.0.0.1"}, CodeSpecial},
		{"the last of many", append(slices.Repeat([]string{addrA}, 40), "::1"), CodeSpecial},
		{"mapped", []string{"::ffff:192.168.1.1"}, CodeSpecial},
		{"metadata", []string{"169.254.169.254"}, CodeSpecial},
		{"the pool", []string{"198.18.1.0"}, CodeSpecial},
		{"zone", []string{"fe80::1%eth0"}, CodeSpecial},
		{"denied range", []string{"8.8.8.8"}, CodeDenied},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.name("a.example", c.addrs...)
			w.serve(addrA+":443", echo)
			d := w.desk(rules(t, []string{"a.example"}, "8.8.8.0/24"))
			_, _, resp := d.connect("a.example:443")
			want(t, "refusal", resp.Header.Get("X-Carrel-Denied"), c.code)
			want(t, "lookups", len(w.lookups()), 1)
			if c.code != "" && len(w.dials()) > 0 {
				t.Errorf("dialled %v", w.dials())
			}
		})
	}
}

// A public address of this machine leads to services that only its firewall keeps
// from others, and no packet of ours would meet that.
func TestOwnAddressesAreNotPublic(t *testing.T) {
	for _, c := range []struct {
		allow []string
		host  string
		code  string
	}{
		{[]string{"a.example"}, "a.example", CodeSpecial},
		{[]string{"a.example", "93.184.216.0/24"}, "a.example", CodeSpecial},
		{[]string{"93.184.216.0/24"}, addrA, CodeSpecial},
		{[]string{"a.example", addrA + ":80"}, "a.example", CodeSpecial},
		{[]string{"a.example", addrA}, "a.example", ""},
		{[]string{addrA + ":443"}, addrA, ""},
	} {
		w := newWorld(t)
		w.name("a.example", addrB, addrA)
		w.serve(addrA+":443", echo)
		w.serve(addrB+":443", echo)
		d := w.desk(rules(t, c.allow), func(cfg *Config) {
			cfg.Machine = func(a netip.Addr) bool { return a.String() == addrA }
		})
		_, _, resp := d.connect(c.host + ":443")
		want(t, fmt.Sprint("refusal of ", c.host, " with ", c.allow), resp.Header.Get("X-Carrel-Denied"), c.code)
		if c.code != "" && len(w.dials()) > 0 {
			t.Errorf("%v: dialled %v", c.allow, w.dials())
		}
	}
	if !machine(netip.MustParseAddr("127.0.0.1")) || machine(netip.MustParseAddr(addrA)) {
		t.Error("the machine's addresses are not those of its interfaces")
	}
}

// A name whose answers change between two questions is asked for once, and what
// was checked is what is dialled.
func TestRebindingFindsNoSecondLookup(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.serve(addrA+":443", echo)
	w.serve("127.0.0.1:443", echo)
	d := w.desk(rules(t, []string{"a.example"}))
	d.connect("a.example:443")
	w.mu.Lock()
	w.names["a.example"] = []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	w.mu.Unlock()
	_, _, resp := d.connect("a.example:443")
	want(t, "refusal", resp.Header.Get("X-Carrel-Denied"), CodeSpecial)
	want(t, "dialled", len(w.dials()), 1)
}

func TestFailuresAreNoRefusals(t *testing.T) {
	w := newWorld(t)
	w.name("down.example", addrB)
	d := w.desk(rules(t, []string{"**.example"}))
	for to, status := range map[string]int{"none.example:443": 502, "down.example:443": 502} {
		_, _, resp := d.connect(to)
		want(t, to, resp.StatusCode, status)
		want(t, "header", resp.Header.Get("X-Carrel-Denied"), "")
	}
	want(t, "decision", w.waitAttempt(1).Decision, Failed)
}

// The first address does not answer: the second is tried beside it.
func TestSlowAddressIsPassedBy(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA, addrB)
	w.slow[netip.MustParseAddr(addrA)] = true
	w.serve(addrB+":443", echo)
	d := w.desk(rules(t, []string{"a.example"}))
	start := time.Now()
	_, _, resp := d.connect("a.example:443")
	want(t, "status", resp.StatusCode, 200)
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	d.e.Close()
	want(t, "address", w.waitAttempt(0).Address, addrB)
}

// A program that goes away takes its lookup with it.
func TestLookupEndsWithTheClient(t *testing.T) {
	w := newWorld(t)
	d := w.desk(rules(t, []string{"hangs.example"}))
	c := d.open()
	_, _ = io.WriteString(c, "CONNECT hangs.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
	time.Sleep(50 * time.Millisecond)
	start := time.Now()
	c.Close()
	want(t, "code", w.waitAttempt(0).Code, CodeGone)
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A server that speaks first is heard before the client says anything.
func TestServerSpeaksFirst(t *testing.T) {
	w := newWorld(t)
	w.name("git.example", addrA)
	w.serve(addrA+":22", func(c net.Conn) {
		_, _ = io.WriteString(c, "SSH-2.0-x\r\n")
		echo(c)
	})
	d := w.desk(rules(t, []string{"git.example:22"}))
	c, br, _ := d.connect("git.example:22")
	line, err := br.ReadString('\n')
	if err != nil || line != "SSH-2.0-x\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
	_, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.6p1 Debian-1\r\n")
	line, err = br.ReadString('\n')
	if err != nil || line != "SSH-2.0-OpenSSH_9.6p1 Debian-1\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
}

// The client ends its half and still gets everything.
func TestHalfClose(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.serve(addrA+":9", func(c net.Conn) {
		b, _ := io.ReadAll(c)
		_, _ = c.Write(append([]byte("all: "), b...))
	})
	d := w.desk(rules(t, []string{"a.example"}))
	c, br, _ := d.connect("a.example:9")
	_, _ = io.WriteString(c, "what")
	_ = c.CloseWrite()
	b, err := io.ReadAll(br)
	if err != nil || string(b) != "all: what" {
		t.Errorf("%q, %v", b, err)
	}
}

// A server that dies in the middle is no end of a stream.
func TestBrokenIsNoEnd(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.serve(addrA+":9", func(c net.Conn) {
		_, _ = io.WriteString(c, "half")
		time.Sleep(50 * time.Millisecond)
		_ = c.(*net.TCPConn).SetLinger(0)
	})
	d := w.desk(rules(t, []string{"a.example"}))
	_, br, _ := d.connect("a.example:9")
	if b, err := io.ReadAll(br); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%q, %v; want a reset", b, err)
	}
	want(t, "code", w.waitAttempt(0).Code, CodeBroken)
}

// The other way round, the server sees that the program died.
func TestServerSeesTheClientDie(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	saw := make(chan error, 1)
	w.serve(addrA+":9", func(c net.Conn) {
		_, err := io.Copy(io.Discard, c)
		saw <- err
	})
	d := w.desk(rules(t, []string{"a.example"}))
	c, _, _ := d.connect("a.example:9")
	_, _ = io.WriteString(c, "\x01half")
	time.Sleep(50 * time.Millisecond)
	_ = c.SetLinger(0)
	c.Close()
	if err := <-saw; !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the server saw %v, want a reset", err)
	}
	want(t, "code", w.waitAttempt(0).Code, CodeGone)
}

// Close ends what is open, and both sides see it at once.
func TestCloseEndsEverything(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	saw := make(chan error, 1)
	w.serve(addrA+":9", func(c net.Conn) {
		_, _ = io.WriteString(c, "hello")
		_, err := io.Copy(io.Discard, c)
		saw <- err
	})
	d := w.desk(rules(t, []string{"**.example"}))
	c, br, _ := d.connect("a.example:9")
	_, _ = br.Peek(5)
	waiting := d.open()
	_, _ = io.WriteString(waiting, "CONNECT hangs.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
	time.Sleep(50 * time.Millisecond)
	start := time.Now()
	d.e.Close()
	if took := time.Since(start); took > time.Second {
		t.Errorf("Close took %v", took)
	}
	for who, err := range map[string]error{"server": <-saw, "client": readAll(c), "waiting client": readAll(waiting)} {
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the %s saw %v, want a reset", who, err)
		}
	}
	want(t, "attempts", len(w.told()), 2)
	if _, err := net.Dial("tcp4", d.proxy); err == nil {
		t.Error("the proxy accepts after Close")
	}
}

func readAll(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

// Rules that change end what is not allowed any more and leave the rest.
func TestSetRules(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.name("b.example", addrB)
	w.serve(addrA+":9", echo)
	w.serve(addrB+":9", echo)
	d := w.desk(rules(t, []string{"a.example", "b.example"}))
	a, abr, _ := d.connect("a.example:9")
	b, bbr, _ := d.connect("b.example:9")
	for _, c := range []net.Conn{a, b} {
		_, _ = io.WriteString(c, "\x01")
	}
	_, _ = abr.ReadByte()
	_, _ = bbr.ReadByte()
	d.e.SetRules(rules(t, []string{"**.example"}, "a.example"))
	if _, err := abr.ReadByte(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the denied connection: %v", err)
	}
	want(t, "code", w.waitAttempt(0).Code, CodeEnded)
	_, _ = io.WriteString(b, "x")
	if x, err := bbr.ReadByte(); x != 'x' || err != nil {
		t.Errorf("the other connection: %q, %v", x, err)
	}
	_, _, resp := d.connect("a.example:9")
	want(t, "a new connection", resp.Header.Get("X-Carrel-Denied"), CodeDenied)
	d.e.SetRules(rules(t, []string{"b.example"}, addrB+"/32"))
	if _, err := bbr.ReadByte(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection to a denied address: %v", err)
	}
}

// Rules that change while a name is looked up hold for the connection.
func TestSetRulesMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.serve(addrA+":9", echo)
	var d *desk
	d = w.desk(rules(t, []string{"a.example"}), func(c *Config) {
		c.Resolve = func(ctx context.Context, name string) ([]netip.Addr, error) {
			d.e.SetRules(rules(t, nil))
			return w.resolve(ctx, name)
		}
	})
	_, _, resp := d.connect("a.example:9")
	want(t, "refusal", resp.Header.Get("X-Carrel-Denied"), CodeNotListed)
	want(t, "code", w.waitAttempt(0).Code, CodeNotListed)
	want(t, "uses", w.waitAttempt(0).Decision, Refused)
}

func TestInternationalNames(t *testing.T) {
	w := newWorld(t)
	w.name("xn--bcher-kva.example", addrA)
	w.serve(addrA+":9", echo)
	d := w.desk(rules(t, []string{"bücher.example"}))
	for _, host := range []string{"bücher.example", "BÜCHER.example", "xn--bcher-kva.example", "XN--BCHER-KVA.example."} {
		c := d.open()
		_, _ = c.Write(append([]byte{5, 1, 0}, socksTo(host, 9)...))
		b := make([]byte, 12)
		_, err := io.ReadFull(c, b)
		want(t, host, fmt.Sprint(b[3], err), "0 <nil>")
		_, _, resp := d.connect(host + ":9")
		want(t, host, resp.StatusCode, 200)
	}
}

// Who made a connection is looked up by its two ends, once.
func TestOwner(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.serveHTTP(addrA+":80", dump)
	asked := make(chan [2]netip.AddrPort, 10)
	d := w.desk(rules(t, []string{"a.example"}), func(c *Config) {
		c.Owner = func(local, remote netip.AddrPort) (int, string) {
			asked <- [2]netip.AddrPort{local, remote}
			return 42, "curl"
		}
	})
	c := d.open()
	_, _ = io.WriteString(c, "GET http://a.example/ HTTP/1.1\r\nHost: x\r\n\r\n"+get)
	_, _ = io.ReadAll(c)
	for n := range 2 {
		a := w.waitAttempt(n)
		want(t, "owner", fmt.Sprint(a.PID, " ", a.Process), "42 curl")
	}
	want(t, "questions", len(asked), 1)
	ends := <-asked
	want(t, "ends", fmt.Sprint(ends[0], ends[1]), d.proxy+" "+c.LocalAddr().String())
}

// A listener that has a bad moment is not given up.
func TestAcceptGoesOn(t *testing.T) {
	w := newWorld(t)
	e := New(Config{})
	l := &moody{Listener: listen(t), left: 12}
	over := make(chan error, 1)
	go func() { over <- e.ServeProxy(l) }()
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "\x04")
	_ = c.SetDeadline(time.Now().Add(15 * time.Second))
	if _, err := io.ReadFull(c, make([]byte, 8)); err != nil {
		t.Error(err)
	}
	e.Close()
	want(w.t, "ServeProxy", <-over, nil)
}

// moody is a listener for which descriptors are short for a while.
type moody struct {
	net.Listener
	left int
}

func (m *moody) Accept() (net.Conn, error) {
	if m.left--; m.left >= 0 {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return m.Listener.Accept()
}

// What is begun has to be said in time.
func TestSlowHead(t *testing.T) {
	w := newWorld(t)
	w.tune = func(e *Engine) { e.patience = 200 * time.Millisecond }
	d := w.desk(rules(t, nil))
	for _, start := range []string{"CONNECT a.exa", "\x05\x01", "GET http://a.example/ HTTP/1.1\r\nX: "} {
		begun := time.Now() // before the connection: the proxy counts from its accept
		c := d.open()
		_, _ = io.WriteString(c, start)
		_, err := io.ReadAll(c)
		if took := time.Since(begun); took < d.e.patience || took > 5*time.Second || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q: %v after %v", start, err, took)
		}
	}
}

func TestResolverIsNotTold(t *testing.T) {
	for given, wanted := range map[string]string{
		"no such host":       "lookup a.example: no such host",
		"server misbehaving": "lookup a.example: server misbehaving",
		"read udp 10.0.0.2:1024->10.0.0.53:53: i/o timeout":                "lookup a.example: i/o timeout",
		"dial udp 10.0.0.53:53: connect: network is unreachable":           "lookup a.example: network is unreachable",
		"read udp [fd00::2]:1024->[fd00::53]:53: read: connection refused": "lookup a.example: connection refused",
	} {
		err := withoutServer("a.example", &net.DNSError{Err: given, Name: "a.example.", Server: "10.0.0.53:53"})
		want(t, "the error of "+given, err.Error(), wanted)
	}
	if withoutServer("a.example", nil) != nil {
		t.Error("no error became one")
	}
}
