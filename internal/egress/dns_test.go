package egress

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"pgregory.net/rapid"

	"carrel/internal/policy"
)

// query makes a message with one question.
func query(name string, t dnsmessage.Type, change ...func(*dnsmessage.Message)) []byte {
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: t, Class: dnsmessage.ClassINET}},
	}
	for _, f := range change {
		f(&m)
	}
	b, err := m.Pack()
	if err != nil {
		panic(err)
	}
	return b
}

// show gives an answer in few words.
func show(t testing.TB, b []byte) string {
	t.Helper()
	if b == nil {
		return "none"
	}
	var m dnsmessage.Message
	if err := m.Unpack(b); err != nil {
		t.Fatalf("%x: %v", b, err)
	}
	if m.ID != 7 || !m.Response || !m.RecursionAvailable || len(b) > 512 {
		t.Errorf("%d bytes, %+v", len(b), m.Header)
	}
	out := strings.TrimPrefix(m.RCode.String(), "RCode")
	for _, r := range m.Answers {
		switch body := r.Body.(type) {
		case *dnsmessage.AResource:
			out += " " + netip.AddrFrom4(body.A).String()
		case *dnsmessage.AAAAResource:
			out += " " + netip.AddrFrom16(body.AAAA).String()
		case *dnsmessage.PTRResource:
			out += " " + body.PTR.String()
		}
		if r.Header.TTL > 60 {
			t.Errorf("TTL %d", r.Header.TTL)
		}
	}
	return out
}

func TestDNSAnswers(t *testing.T) {
	w := newWorld(t)
	d := w.desk(rules(t, []string{"a.example", "*.w.example", "b.example:443", addrA}, "bad.w.example", "half.w.example:443"))
	edns := func(m *dnsmessage.Message) {
		var h dnsmessage.ResourceHeader
		_ = h.SetEDNS0(4096, 0, false)
		m.Additionals = append(m.Additionals, dnsmessage.Resource{Header: h, Body: &dnsmessage.OPTResource{}})
	}
	for _, c := range []struct {
		message []byte
		wanted  string
	}{
		{query("a.example.", dnsmessage.TypeA), "Success 198.18.1.0"},
		{query("A.eXample.", dnsmessage.TypeA), "Success 198.18.1.0"},
		{query("x.w.example.", dnsmessage.TypeA), "Success 198.18.1.1"},
		{query("a.example.", dnsmessage.TypeA, edns), "Success 198.18.1.0"},
		{query("b.example.", dnsmessage.TypeA), "Success 198.18.1.2"},
		{query("half.w.example.", dnsmessage.TypeA), "Success 198.18.1.3"},
		{query("a.example.", dnsmessage.TypeAAAA), "Success"},
		{query("a.example.", 65), "Success"}, // HTTPS
		{query("a.example.", 64), "Success"}, // SVCB
		{query("a.example.", dnsmessage.TypeTXT), "Success"},
		{query("a.example.", dnsmessage.TypeMX), "Success"},
		{query("a.example.", dnsmessage.TypeALL), "Refused"},
		{query("a.example.", dnsmessage.TypeAXFR), "Refused"},
		{query("a.example.", dnsmessage.TypeA, func(m *dnsmessage.Message) { m.Questions[0].Class = dnsmessage.ClassCHAOS }), "Refused"},
		{query("evil.example.", dnsmessage.TypeA), "NameError"},
		{query("evil.example.", dnsmessage.TypeAAAA), "NameError"},
		{query("w.example.", dnsmessage.TypeA), "NameError"},
		{query("bad.w.example.", dnsmessage.TypeA), "NameError"},
		{query(".", dnsmessage.TypeNS), "Refused"},
		{query("1.2.3.4.", dnsmessage.TypeA), "Refused"},
		{query("127.1.", dnsmessage.TypeA), "Refused"},
		{query("a\\b.example.", dnsmessage.TypeA), "Refused"},
		{query("localhost.", dnsmessage.TypeA), "Success 127.0.0.1"},
		{query("x.LOCALHOST.", dnsmessage.TypeAAAA), "Success ::1"},
		{query("localhost.", dnsmessage.TypeMX), "Success"},
		{query("0.1.18.198.in-addr.arpa.", dnsmessage.TypePTR), "Success a.example."},
		{query("0.1.18.198.in-addr.arpa.", dnsmessage.TypeA), "Success"},
		{query("1.0.0.127.in-addr.arpa.", dnsmessage.TypePTR), "Success localhost."},
		{query("1.0.18.198.in-addr.arpa.", dnsmessage.TypePTR), "NameError"},
		{query("9.9.18.198.in-addr.arpa.", dnsmessage.TypePTR), "NameError"},
		{query("8.8.8.8.in-addr.arpa.", dnsmessage.TypePTR), "NameError"},
		{query("1."+strings.Repeat("0.", 31)+"ip6.arpa.", dnsmessage.TypePTR), "Success localhost."},
		{query("x.ip6.arpa.", dnsmessage.TypePTR), "NameError"},
		{query("a.example.", dnsmessage.TypeA, func(m *dnsmessage.Message) { m.OpCode = 5 }), "NotImplemented"},
		{query("a.example.", dnsmessage.TypeA, func(m *dnsmessage.Message) { m.Questions = append(m.Questions, m.Questions[0]) }), "FormatError"},
		{query("a.example.", dnsmessage.TypeA, func(m *dnsmessage.Message) { m.Questions = nil }), "FormatError"},
		{query("a.example.", dnsmessage.TypeA, edns, edns), "FormatError"},
		{query("a.example.", dnsmessage.TypeA, func(m *dnsmessage.Message) { m.Response = true }), "none"},
		{query("a.example.", dnsmessage.TypeA)[:20], "FormatError"},
		{[]byte("short"), "none"},
		// A name that points at itself.
		{[]byte("\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\xc0\x0c\x00\x01\x00\x01"), "FormatError"},
		// An answer that is announced and not there.
		{[]byte("\x00\x07\x01\x00\x00\x01\x00\x09\x00\x00\x00\x00\x01a\x00\x00\x01\x00\x01"), "FormatError"},
	} {
		want(t, fmt.Sprintf("%q", c.message), show(t, d.e.answerDNS(c.message)), c.wanted)
	}
	var told []string
	for _, a := range w.told() {
		told = append(told, a.Protocol+" "+a.Host+" "+a.Code)
	}
	want(t, "attempts", strings.Join(told, ", "), "dns evil.example not_listed, dns w.example not_listed, dns bad.w.example denied")
	want(t, "lookups outside", len(w.lookups()), 0)
}

func TestDNSVersions(t *testing.T) {
	e := New(Config{Rules: rules(t, []string{"a.example"})})
	defer e.Close()
	q := query("a.example.", dnsmessage.TypeA, func(m *dnsmessage.Message) {
		var h dnsmessage.ResourceHeader
		_ = h.SetEDNS0(4096, 0, false)
		h.TTL |= 1 << 16
		m.Additionals = append(m.Additionals, dnsmessage.Resource{Header: h, Body: &dnsmessage.OPTResource{}})
	})
	var m dnsmessage.Message
	if err := m.Unpack(e.answerDNS(q)); err != nil || len(m.Additionals) != 1 || m.Additionals[0].Header.ExtendedRCode(m.RCode) != badVersion {
		t.Errorf("%+v, %v", m, err)
	}
}

// Data in names goes nowhere: each gets an address of the pool, nobody outside
// is asked, and there is an end to it.
func TestTunnellingByNames(t *testing.T) {
	w := newWorld(t)
	d := w.desk(rules(t, []string{"*.w.example"}))
	for i := range maxNames {
		name := fmt.Sprintf("%x.%s.w.example", i, strings.Repeat("d", 50))
		if _, ok := d.e.pool.address(name); !ok {
			t.Fatalf("name %d has no address", i)
		}
	}
	want(t, "one more", show(t, d.e.answerDNS(query("more.w.example.", dnsmessage.TypeA))), "ServerFailure")
	want(t, "an old one", show(t, d.e.answerDNS(query("0."+strings.Repeat("d", 50)+".w.example.", dnsmessage.TypeA))), "Success 198.18.1.0")
	want(t, "lookups outside", len(w.lookups()), 0)
}

func TestPoolIsOneToOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPool()
		given := map[string]netip.Addr{}
		for _, name := range rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})).Draw(t, "names") {
			a, ok := p.address(name)
			back, known := p.name(a)
			if !ok || !known || back != name || !Pool.Contains(a) || a == Own || given[name].IsValid() && given[name] != a {
				t.Fatalf("%s has %v, which means %q", name, a, back)
			}
			given[name] = a
		}
	})
	if last := nth(maxNames - 1); !Pool.Contains(last) {
		t.Errorf("the last address is %v", last)
	}
}

func TestServeDNS(t *testing.T) {
	w := newWorld(t)
	d := w.desk(rules(t, []string{"a.example"}))
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tcp := listen(t)
	over := make(chan error, 1)
	go func() { over <- d.e.ServeDNS(udp, tcp) }()
	t.Cleanup(func() {
		d.e.Close()
		want(t, "ServeDNS", <-over, nil)
	})
	c, err := net.Dial("udp4", udp.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	_, _ = c.Write([]byte("junk"))
	_, _ = c.Write(query("a.example.", dnsmessage.TypeA))
	b := make([]byte, 512)
	n, err := c.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "by UDP", show(t, b[:n]), "Success 198.18.1.0")

	s, err := net.Dial("tcp4", tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_ = s.SetDeadline(time.Now().Add(5 * time.Second))
	for range 2 {
		q := query("a.example.", dnsmessage.TypeA)
		_, _ = s.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(q))), q...))
		if _, err := io.ReadFull(s, b[:2]); err != nil {
			t.Fatal(err)
		}
		n := binary.BigEndian.Uint16(b)
		if _, err := io.ReadFull(s, b[:n]); err != nil {
			t.Fatal(err)
		}
		want(t, "by TCP", show(t, b[:n]), "Success 198.18.1.0")
	}
	// The resolver of Go, over the same sockets.
	r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		to := udp.LocalAddr().String()
		if network == "tcp" {
			to = tcp.Addr().String()
		}
		var d net.Dialer
		return d.DialContext(ctx, network, to)
	}}
	addrs, err := r.LookupHost(context.Background(), "a.example")
	if err != nil || !slices.Equal(addrs, []string{"198.18.1.0"}) {
		t.Errorf("%v, %v", addrs, err)
	}
	names, err := r.LookupAddr(context.Background(), "198.18.1.0")
	if err != nil || !slices.Equal(names, []string{"a.example."}) {
		t.Errorf("%v, %v", names, err)
	}
	start := time.Now()
	if _, err = r.LookupHost(context.Background(), "b.example"); err == nil || time.Since(start) > time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

func FuzzDNS(f *testing.F) {
	f.Add(query("a.example.", dnsmessage.TypeA))
	f.Add(query("0.1.18.198.in-addr.arpa.", dnsmessage.TypePTR))
	f.Add(query("localhost.", dnsmessage.TypeAAAA))
	f.Add([]byte("\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\xc0\x0c\x00\x01\x00\x01\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x00"))
	r, err := policy.CompileHosts([]policy.Value[string]{{V: "**.example"}}, nil)
	if err != nil {
		f.Fatal(err)
	}
	e := New(Config{Rules: r})
	f.Fuzz(func(t *testing.T, in []byte) {
		out := e.answerDNS(in)
		if out == nil {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(out); err != nil || !m.Response || len(out) > 512 || m.ID != binary.BigEndian.Uint16(in) {
			t.Fatalf("%x is answered %x: %v", in, out, err)
		}
		for _, a := range m.Answers {
			if body, ok := a.Body.(*dnsmessage.AResource); ok {
				if at := netip.AddrFrom4(body.A); !Pool.Contains(at) && !at.IsLoopback() {
					t.Fatalf("%x is answered %v", in, at)
				}
			}
		}
	})
}
