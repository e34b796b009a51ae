package synhold

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// syn is a first packet as the loopback interface carries it: its checksum is not there.
func syn(from, to string) []byte {
	f := first{ends: Ends{netip.MustParseAddrPort(to), netip.MustParseAddrPort(from)}}
	t := make([]byte, headerTCP)
	binary.BigEndian.PutUint16(t, netip.MustParseAddrPort(from).Port())
	binary.BigEndian.PutUint16(t[2:], netip.MustParseAddrPort(to).Port())
	binary.BigEndian.PutUint32(t[4:], 0xfffffffe)
	t[12], t[flagsTCP] = headerTCP/4<<4, flagSYN
	b := f.back(protocolTCP, t)
	if b[0]>>4 == 4 {
		b[ttl4] = 64
	} else {
		b[hops6] = 64
	}
	return b
}

func sumsUp(t *testing.T, b []byte) {
	t.Helper()
	head := header6
	if b[0]>>4 == 4 {
		head = header4
		if checksum(b[:head], 0) != 0 {
			t.Errorf("the IP header's checksum is wrong: %x", b)
		}
		if b[9] == protocolICMP {
			if checksum(b[head:], 0) != 0 {
				t.Errorf("the checksum of ICMP is wrong: %x", b)
			}
			return
		}
	}
	segment := append([]byte(nil), b[head:]...)
	f, _ := readFirst(append([]byte(nil), b...))
	src, dst := b[12:16], b[16:20]
	if head == header6 {
		src, dst = b[8:24], b[24:40]
	}
	s, _ := netip.AddrFromSlice(src)
	d, _ := netip.AddrFromSlice(dst)
	sumSegment(segment, s, d)
	if string(segment) != string(b[head:]) {
		t.Errorf("the checksum of TCP is wrong: %x, of %v", b, f.ends)
	}
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct{ from, to string }{
		{"198.18.1.0:4000", "198.18.1.0:443"}, {"127.0.0.1:4000", "127.0.0.1:80"}, {"[::1]:4000", "[::1]:80"},
	} {
		f, ok := readFirst(syn(c.from, c.to))
		if !ok || f.ends.From.String() != c.from || f.ends.To.String() != c.to {
			t.Fatalf("%v: %v %v", c, ok, f.ends)
		}
		again := f.deliver()
		sumsUp(t, again)
		if _, ok := readFirst(again); ok {
			t.Errorf("%v: what was delivered is taken for a first packet", c)
		}
		no := f.refuse()
		sumsUp(t, no)
		if s := no[f.head:]; s[flagsTCP] != flagRST|flagACK || binary.BigEndian.Uint32(s[8:]) != 0xffffffff {
			t.Errorf("%v: refused by %x", c, s)
		}
		sumsUp(t, f.unreachable())
	}
}

// TestChecksum is the example of RFC 1071.
func TestChecksum(t *testing.T) {
	if got := checksum([]byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}, 0); got != ^uint16(0xddf2) {
		t.Errorf("%#x", got)
	}
}

func FuzzReadFirst(f *testing.F) {
	for _, s := range [][]byte{syn("127.0.0.1:1", "127.0.0.1:2"), syn("[::1]:1", "[::1]:2"), {0x45}, nil} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, ok := readFirst(b); ok {
			p.deliver()
			p.refuse()
			p.unreachable()
		}
	})
}

func TestArrivals(t *testing.T) {
	var a Arrivals[int]
	e := Ends{netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("127.0.0.1:2")}
	dropped := make(chan int, 2)
	drop := func(n int) { dropped <- n }
	a.Put(e, 1, drop)
	a.Put(e, 2, drop) // the program has gone and another one came by the same port
	if n, ok := a.Take(e); n != 2 || !ok {
		t.Errorf("took %d, %v", n, ok)
	}
	if _, ok := a.Take(e); ok {
		t.Error("taken twice")
	}
	select {
	case n := <-dropped:
		if n != 1 {
			t.Errorf("%d was let go of", n)
		}
	case <-time.After(time.Second):
		t.Error("the first one is kept")
	}
}

// TestArrivalThatComesTooLate: one whose time is over is let go of once, also where another
// takes its place at that moment.
func TestArrivalThatComesTooLate(t *testing.T) {
	var a Arrivals[int]
	e := Ends{netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("127.0.0.1:2")}
	var dropped []int
	drop := func(n int) { dropped = append(dropped, n) }
	a.Put(e, 1, drop)
	a.here[e].timer.Stop() // as if it had fired, and waited for Put
	a.Put(e, 2, drop)
	if len(dropped) != 1 || dropped[0] != 1 {
		t.Errorf("let go of %v, want 1", dropped)
	}
	synctest.Test(t, func(t *testing.T) {
		var a Arrivals[int]
		gone := make(chan int, 1)
		a.Put(e, 3, func(n int) { gone <- n })
		time.Sleep(arrivalTime - 1)
		select {
		case <-gone:
			t.Error("it did not wait")
		default:
		}
		time.Sleep(2 * time.Nanosecond)
		synctest.Wait()
		if _, ok := a.Take(e); ok || <-gone != 3 {
			t.Error("one that nothing came for is kept")
		}
	})
}
