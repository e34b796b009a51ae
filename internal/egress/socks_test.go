package egress

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func socksTo(host string, port byte) []byte {
	b := append([]byte{5, 1, 0, 3, byte(len(host))}, host...)
	return append(b, 0, port)
}

func TestSocks(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.name("down.example", addrB)
	w.serve(addrA+":9", echo)
	d := w.desk(rules(t, []string{"a.example", "down.example", "none.example", addrA + ":9", "[2a00::1]:9"}))
	v4 := append([]byte{5, 1, 0, 1, 93, 184, 216, 34}, 0, 9)
	v6 := append([]byte{5, 1, 0, 4, 0x2a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 0, 9)
	for _, c := range []struct {
		name    string
		hello   []byte
		method  []byte
		request []byte
		reply   byte
	}{
		{"a name", []byte{5, 1, 0}, []byte{5, 0}, socksTo("a.example", 9), 0},
		{"any password", append([]byte{5, 1, 2, 1, 4}, "user\x06secret"...), []byte{5, 2, 1, 0}, socksTo("A.example.", 9), 0},
		{"an empty password", []byte{5, 1, 2, 1, 0, 0}, []byte{5, 2, 1, 0}, socksTo("a.example", 9), 0},
		{"none is preferred", []byte{5, 2, 2, 0}, []byte{5, 0}, socksTo("a.example", 9), 0},
		{"no method", []byte{5, 1, 1}, []byte{5, 255}, nil, 0},
		{"an address", []byte{5, 1, 0}, []byte{5, 0}, v4, 0},
		{"an address as a name", []byte{5, 1, 0}, []byte{5, 0}, socksTo(addrA, 9), 0},
		{"an IPv6 address that is down", []byte{5, 1, 0}, []byte{5, 0}, v6, socksNoAnswer},
		{"not listed", []byte{5, 1, 0}, []byte{5, 0}, socksTo("b.example", 9), socksRefused},
		{"special", []byte{5, 1, 0}, []byte{5, 0}, append([]byte{5, 1, 0, 1, 127, 0, 0, 1}, 0, 9), socksRefused},
		{"odd address", []byte{5, 1, 0}, []byte{5, 0}, socksTo("0x7f000001", 9), socksRefused},
		{"a NUL in the name", []byte{5, 1, 0}, []byte{5, 0}, socksTo("a.example\x00.evil.example", 9), socksRefused},
		{"down", []byte{5, 1, 0}, []byte{5, 0}, socksTo("down.example", 9), socksNoAnswer},
		{"no such name", []byte{5, 1, 0}, []byte{5, 0}, socksTo("none.example", 9), socksUnreachable},
		{"port 0", []byte{5, 1, 0}, []byte{5, 0}, socksTo("a.example", 0), socksTrouble},
		{"BIND", []byte{5, 1, 0}, []byte{5, 0}, append([]byte{5, 2, 0, 1, 93, 184, 216, 34}, 0, 9), socksNoCommand},
		{"UDP", []byte{5, 1, 0}, []byte{5, 0}, append([]byte{5, 3, 0, 1, 0, 0, 0, 0}, 0, 9), socksNoCommand},
		{"an unknown kind", []byte{5, 1, 0}, []byte{5, 0}, append([]byte{5, 1, 0, 9, 1, 1, 1, 1}, 0, 9), socksNoAddress},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := d.open()
			_, _ = s.Write(c.hello)
			got := make([]byte, len(c.method))
			if _, err := io.ReadFull(s, got); err != nil || !bytes.Equal(got, c.method) {
				t.Fatalf("methods: %v, %v", got, err)
			}
			if c.request == nil {
				_, err := s.Read(got)
				want(t, "the end", err, io.EOF)
				return
			}
			_, _ = s.Write(append(c.request, "\x01early"...))
			reply := make([]byte, 10)
			if _, err := io.ReadFull(s, reply); err != nil {
				t.Fatal(err)
			}
			want(t, "reply", reply[1], c.reply)
			if c.reply != 0 {
				if err := readAll(s); err != nil {
					t.Errorf("after the reply: %v", err)
				}
				return
			}
			back := make([]byte, 6)
			if _, err := io.ReadFull(s, back); err != nil || string(back) != "\x01early" {
				t.Errorf("%q, %v", back, err)
			}
		})
	}
}

func TestSocks4IsRefusedReadably(t *testing.T) {
	w := newWorld(t)
	d := w.desk(rules(t, nil))
	out := d.say("\x04\x01\x00\x50\x7f\x00\x00\x01user\x00")
	want(t, "reply", out, "\x00\x5b\x00\x00\x00\x00\x00\x00")
	has(t, "reason", w.waitAttempt(0).Reason, "SOCKS5")
}

func TestOtherThingsOnTheProxyPort(t *testing.T) {
	w := newWorld(t)
	d := w.desk(rules(t, nil))
	want(t, "TLS", d.say("\x16\x03\x01\x02\x00\x01\x00"), string(tlsAlert))
	has(t, "junk", d.say("\x00\xff\r\n\r\n"), "HTTP/1.1 400 ")
	has(t, "HTTP/2", d.say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "HTTP/1.1 ", "X-Carrel-Denied")
	c := d.open()
	c.Close()
	want(t, "attempts", len(w.told()), 3)
}

func FuzzSocks(f *testing.F) {
	f.Add([]byte("\x05\x01\x00\x05\x01\x00\x03\x09a.example\x00\x09"))
	f.Add([]byte("\x05\x02\x00\x02\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50"))
	f.Add([]byte("\x05\x01\x02\x01\x01a\x01b\x05\x01\x00\x04aaaaaaaaaaaaaaaa\x00\x50"))
	f.Add([]byte("\x05\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		said := 0
		target, err := readSocks(bytes.NewReader(in), func(b []byte) error {
			if said += len(b); said > 4 {
				t.Fatal("it says more than the protocol has")
			}
			return nil
		})
		if err == nil && (target.Port == 0 || target.Host == "" || len(target.Host) > 255) {
			t.Fatalf("%+v", target)
		}
		var s *socksError
		if errors.As(err, &s) && (s.reply == 0 || s.reason == "") {
			t.Fatalf("%+v", s)
		}
	})
}
