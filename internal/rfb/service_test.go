package rfb

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRespond: as openssl enciphers it with the key turned round, byte by byte. The second
// password begins with the first one's eight characters; those after them do not count.
func TestRespond(t *testing.T) {
	var challenge [challengeSize]byte
	for i := range challenge {
		challenge[i] = byte(i)
	}
	want := [challengeSize]byte{0xb8, 0x66, 0x92, 0x41, 0x25, 0xc8, 0xee, 0xbb, 0x9d, 0xeb, 0xc1, 0xdb, 0x61, 0xc5, 0x38, 0xe2}
	if got := respond("password", challenge); got != want {
		t.Errorf("%x, want %x", got, want)
	}
	if !matches("password-and-more", challenge, respond("password", challenge)) || matches("passwore", challenge, respond("password", challenge)) {
		t.Error("eight characters count, and all of them")
	}
}

func TestPasswords(t *testing.T) {
	seen := make(map[string]bool)
	for range 500 {
		p, err := newPassword()
		if err != nil || len(p) != passwordLength || strings.Trim(p, passwordLetters) != "" || seen[p] {
			t.Fatalf("%q, %v", p, err)
		}
		seen[p] = true
	}
}

// TestInput: keys and pointer go on while that is allowed and for whom it is, without a
// new connection, and what is held is let go when it ends.
func TestInput(t *testing.T) {
	w := serve(t)
	c, err := w.view(t, w.admit(t, true).Password())
	if err != nil {
		t.Fatal(err)
	}
	say := func(messages ...[]byte) {
		t.Helper()
		if _, err := c.Write(bytes.Join(messages, nil)); err != nil {
			t.Fatal(err)
		}
	}
	var want []byte
	hears := func(what string, messages ...[]byte) {
		t.Helper()
		want = append(want, bytes.Join(messages, nil)...)
		eventually(t, what, func() bool { return len(w.got()) >= len(want) })
		if got := w.got(); !bytes.Equal(got, want) {
			t.Fatalf("%s: the server got %x, want %x", what, got, want)
		}
	}
	say(key('a', true), key('a', false), pointer(1, 3, 4), []byte{cutText, 0, 0, 0, 0, 0, 0, 1, 'x'}, wanted)
	hears("looking", wanted)
	w.SetInput(true)
	say(key('a', true), key('a', true), key('a', true), pointer(1, 3, 4), key('b', true), wanted)
	hears("acting", key('a', true), pointer(1, 3, 4), key('b', true), wanted)
	w.SetInput(false)
	hears("letting go", key('b', false), key('a', false), pointer(0, 3, 4))
	say(key('b', false), pointer(0, 3, 4), key('c', true), wanted)
	hears("looking again", wanted)
	w.SetInput(true)
	say(key('a', true))
	hears("acting again", key('a', true))
	c.Close()
	hears("gone with a key", key('a', false))
}

// TestInputOnlyForPersons: who was let in to look only looks, whatever the mode.
func TestInputOnlyForPersons(t *testing.T) {
	w := serve(t)
	w.SetInput(true)
	looks, acts := w.admit(t, false), w.admit(t, true)
	c, err := w.view(t, looks.Password())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.Write(append(key('a', true), wanted...))
	eventually(t, "the request", func() bool { return bytes.Equal(w.got(), wanted) })
	w.SetInput(false)
	w.SetInput(true)
	_, _ = c.Write(append(key('a', true), wanted...))
	eventually(t, "the request", func() bool { return bytes.Equal(w.got(), append(slices.Clone(wanted), wanted...)) })
	c.Close()
	eventually(t, "the place is free", func() bool { return w.full() == "" })
	if c, err = w.view(t, acts.Password()); err != nil {
		t.Fatal(err)
	}
	_, _ = c.Write(key('a', true))
	eventually(t, "the key", func() bool { return bytes.HasSuffix(w.got(), key('a', true)) })
}

// TestWrongPasswords: nobody guesses for long, also not with the right one at last.
func TestWrongPasswords(t *testing.T) {
	w := serve(t)
	one := w.admit(t, true)
	for range maxWrong {
		_, err := w.view(t, "wrongone")
		away(t, err, "not the password")
	}
	_, err := w.view(t, one.Password())
	away(t, err, "too many wrong passwords")
	w.Service.mu.Lock()
	w.since = w.since.Add(-wrongEach)
	w.Service.mu.Unlock()
	if _, err := w.view(t, one.Password()); err != nil {
		t.Errorf("after a while: %v", err)
	}
	if len(w.conns) != 1 {
		t.Errorf("%d servers were started", len(w.conns))
	}
}

// TestSecondViewer: one watches, another one hears why it does not.
func TestSecondViewer(t *testing.T) {
	w := serve(t)
	one, two := w.admit(t, false), w.admit(t, false)
	c, err := w.view(t, one.Password())
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.view(t, two.Password())
	away(t, err, taken)
	one.Close()
	if _, err := io.ReadAll(c); err != nil {
		t.Errorf("the first one, whose watch has ended: %v", err)
	}
	eventually(t, "the place is free", func() bool { return w.full() == "" })
	_, err = w.view(t, one.Password())
	away(t, err, "not the password")
	if _, err = w.view(t, two.Password()); err != nil {
		t.Error(err)
	}
}

// TestStrangers: whose connection it is decides before anything is said.
func TestStrangers(t *testing.T) {
	w := serve(t)
	w.mine = false
	if _, err := w.view(t, w.admit(t, false).Password()); err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
}

func TestOldViewers(t *testing.T) {
	w := serve(t)
	for version, want := range map[string]string{"RFB 003.003\n": "\x00\x00\x00\x00\x00\x00\x00", "RFB 003.007\n": "\x00\x00\x00\x00", "RFB 004.000\n": "", "GET / HTTP/1": "", "RFB 003.008 ": ""} {
		c, err := net.Dial("tcp4", w.addr)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadFull(c, make([]byte, 12))
		_, _ = io.WriteString(c, version)
		got, _ := io.ReadAll(c)
		if !strings.HasPrefix(string(got), want) || (want == "") != (len(got) == 0) || want != "" && !strings.HasSuffix(string(got), "version 3.8 of the protocol") {
			t.Errorf("%q: %q", version, got)
		}
		c.Close()
	}
}

// TestGuests: who says nothing takes no place for long, and does not keep a service
// from ending.
func TestGuests(t *testing.T) {
	w := serve(t)
	for range maxGuests {
		c, err := net.Dial("tcp4", w.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.ReadFull(c, make([]byte, 12))
	}
	c, err := net.Dial("tcp4", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if b, _ := io.ReadAll(c); len(b) > 0 {
		t.Errorf("one too many was told %q", b)
	}
	done := make(chan struct{})
	go func() { w.Close(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * time.Second):
		t.Error("it does not end")
	}
}

// TestWrongMessage: what is no message ends the viewer, and is told.
func TestWrongMessage(t *testing.T) {
	w := serve(t)
	c, err := w.view(t, w.admit(t, true).Password())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.Write([]byte{7, 1, 2, 3})
	_, _ = io.ReadAll(c)
	eventually(t, "it is told", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.ContainsFunc(w.told, func(s string) bool { return strings.Contains(s, "a message of type 7") })
	})
	if got := w.got(); len(got) > 0 {
		t.Errorf("the server got %x", got)
	}
}

// TestServerGoes: the viewer ends with its server, and the next one gets another.
func TestServerGoes(t *testing.T) {
	w := serve(t)
	one := w.admit(t, false)
	c, err := w.view(t, one.Password())
	if err != nil {
		t.Fatal(err)
	}
	w.display.mu.Lock()
	w.conns[0].Close()
	w.display.mu.Unlock()
	if _, err := io.ReadAll(c); err != nil {
		t.Error(err)
	}
	eventually(t, "the place is free", func() bool { return w.full() == "" })
	w.deny = errors.New("no display today")
	_, err = w.view(t, one.Password())
	away(t, err, "no display today")
}

func TestManyWatches(t *testing.T) {
	w := serve(t)
	var list []*Watch
	for range maxWatches {
		list = append(list, w.admit(t, false))
	}
	if _, err := w.Admit(false); err == nil {
		t.Error("one too many")
	}
	list[3].Close()
	w.admit(t, false)
	for i, one := range list {
		if i == 3 {
			continue
		}
		c, err := w.view(t, one.Password())
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		c.Close()
		eventually(t, "the place is free", func() bool { return w.full() == "" })
	}
}

// FuzzEnter: a server that says anything is in, or an error.
func FuzzEnter(f *testing.F) {
	f.Add([]byte(version + "\x01\x01\x00\x00\x00\x00"))
	f.Add([]byte(version + "\x00\x00\x00\x00\x05sorry"))
	f.Add([]byte(version + "\x01\x01\x00\x00\x00\x01\xff\xff\xff\xffno"))
	f.Fuzz(func(t *testing.T, said []byte) {
		a, b := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, b) }()
		go func() { _, _ = b.Write(said); b.Close() }()
		err := enter(a)
		a.Close()
		if in := bytes.HasPrefix(said, []byte(version)); err == nil && !in {
			t.Errorf("in, after %q", said)
		} else if err != nil && len(err.Error()) > 8*maxReason {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	})
}
