package xfilter

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The attacks are tried three times: on the server itself, where they must work
// (else the test shows nothing), through the filter while the workspace is
// active, and while it is not.

const (
	keyPress   = 2
	keyRelease = 3
	motion     = 6
	maskKeys   = 1 | 2
)

// focus gives a window the keyboard.
func (c *client) focus(window uint32) { c.send(42, 1, window, 0); c.sync() }

// stage is a victim with a window that has the keyboard, and the person's hands:
// a client of the server itself, as the supervisor or the VNC server is.
type stage struct {
	w      *world
	victim *client
	window uint32
	hands  *client
}

func newStage(t *testing.T) *stage {
	w := newWorld(t)
	w.filter.SetActive(true)
	s := &stage{w: w, victim: w.open(false), hands: w.direct()}
	s.window = s.victim.window(10, 10, 200, 200, maskKeys|0x4|0x8|0x40)
	s.victim.focus(s.window)
	s.hands.fake(motion, 0, 60, 60)
	s.victim.drain()
	return s
}

// typed presses and releases a key as a person does.
func (s *stage) typed() {
	s.hands.fake(keyPress, 38, 0, 0)
	s.hands.fake(keyRelease, 38, 0, 0)
}

// modes runs an attack in each of the three ways. It says whether it worked.
func modes(t *testing.T, attack func(s *stage, c *client) bool, inActive bool) {
	t.Helper()
	for _, m := range []struct {
		name   string
		direct bool
		active bool
		want   bool
	}{
		{"without the filter", true, true, true},
		{"active", false, true, inActive},
		{"not active", false, false, false},
	} {
		t.Run(m.name, func(t *testing.T) {
			s := newStage(t)
			s.w.t, s.victim.t, s.hands.t = t, t, t
			s.w.filter.SetActive(m.active)
			for _, o := range []order{false, true} {
				c := s.w.open(o)
				if m.direct {
					c = openAt(t, s.w.real, s.w.cookie, o)
				}
				if got := attack(s, c); got != m.want {
					t.Errorf("big endian %v: the attack worked: %v, want %v; told %v", o, got, m.want, s.w.toldAll())
				}
				c.conn.Close()
				time.Sleep(20 * time.Millisecond) // the server lets go of what it held
				s.victim.drain()
			}
			if !s.victim.sync() {
				t.Error("the victim is gone")
			}
		})
	}
}

func TestKeysByXTest(t *testing.T) {
	modes(t, func(s *stage, c *client) bool {
		c.fake(keyPress, 38, 0, 0)
		c.fake(keyRelease, 38, 0, 0)
		return s.victim.drain()[keyPress] > 0
	}, true)
}

func TestKeysBySendEvent(t *testing.T) {
	modes(t, func(s *stage, c *client) bool {
		c.send(25, 0, s.window, 1, byte(keyPress), byte(38), uint16(0), 0, c.root, s.window, 0, 0, 0, byte(1), byte(0), uint16(0))
		c.sync()
		return s.victim.drain()[keyPress] > 0
	}, true)
}

func TestKeysBySendEventUpwards(t *testing.T) {
	modes(t, func(s *stage, c *client) bool {
		c.next++
		child := c.base + c.next // a window of the attacker's own, in the victim's
		c.send(1, 0, child, s.window, uint16(0), uint16(0), uint16(5), uint16(5), uint16(0), uint16(1), 0, 0)
		c.send(25, 1, child, 1, byte(keyPress), byte(38), uint16(0), 0, c.root, child, 0, 0, 0, byte(1), byte(0), uint16(0))
		c.sync()
		return s.victim.drain()[keyPress] > 0
	}, true)
}

func TestPointerByWarp(t *testing.T) {
	modes(t, func(s *stage, c *client) bool {
		s.hands.fake(motion, 0, 60, 60)
		c.send(41, 0, 0, c.root, 0, 0, uint16(300), uint16(301))
		c.sync()
		r := s.hands.call(38, 0, s.hands.root)
		return s.hands.order.u16(r[16:]) == 300
	}, true)
}

func TestFocusIsTaken(t *testing.T) {
	modes(t, func(s *stage, c *client) bool {
		s.hands.focus(s.window)
		c.focus(0)
		r := s.hands.call(43, 0)
		return s.hands.order.u32(r[8:]) == 0
	}, true)
}

// listening attacks hear what a person types into the victim.
func listening(t *testing.T, set func(s *stage, c *client), heard func(e []byte) bool) {
	t.Helper()
	modes(t, func(s *stage, c *client) bool {
		set(s, c)
		c.drain()
		s.hands.focus(s.window)
		s.typed()
		c.sync()
		for _, e := range c.events {
			if heard(e) {
				return true
			}
		}
		return false
	}, true)
}

func isKey(e []byte) bool { return e[0]&0x7f == keyPress }

func TestKeysHeardOnAnothersWindow(t *testing.T) {
	listening(t, func(s *stage, c *client) { c.send(2, 0, s.window, 1<<11, 1) }, isKey)
}

// A window in the victim's, below the pointer, is told of its keys.
func TestKeysHeardFromWithin(t *testing.T) {
	listening(t, func(s *stage, c *client) {
		c.next++
		c.send(1, 0, c.base+c.next, s.window, uint16(0), uint16(0), uint16(200), uint16(200), uint16(0), uint16(2), 0, 1<<11, 1)
		c.send(8, 0, c.base+c.next)
	}, isKey)
}

func TestKeysHeardFromWithinLater(t *testing.T) {
	listening(t, func(s *stage, c *client) {
		outer, inner := c.base+90, c.base+91
		c.send(1, 0, outer, s.window, uint16(0), uint16(0), uint16(200), uint16(200), uint16(0), uint16(2), 0, 0)
		c.send(1, 0, inner, outer, uint16(0), uint16(0), uint16(200), uint16(200), uint16(0), uint16(2), 0, 0)
		c.send(2, 0, inner, 1<<11, 1)
		c.send(8, 0, outer)
		c.send(8, 0, inner)
	}, isKey)
}

// A window around the victim's has a grab that begins with any key.
func TestKeysHeardFromAround(t *testing.T) {
	listening(t, func(s *stage, c *client) {
		own := c.window(0, 0, 400, 400, 0)
		c.send(7, 0, s.window, own, uint16(0), uint16(0))
		c.send(8, 0, s.window)
		c.send(33, 1, own, uint16(0x8000), byte(0), byte(1), byte(1), byte(0), uint16(0))
	}, isKey)
}

func TestKeysHeardByGrab(t *testing.T) {
	listening(t, func(s *stage, c *client) { c.call(31, 1, s.window, 0, byte(1), byte(1), uint16(0)) }, isKey)
}

func TestKeysHeardByPassiveGrab(t *testing.T) {
	listening(t, func(s *stage, c *client) {
		c.send(33, 1, c.root, uint16(0x8000), byte(0), byte(1), byte(1), byte(0), uint16(0))
	}, isKey)
}

func TestKeysHeardRaw(t *testing.T) {
	listening(t, func(s *stage, c *client) {
		op := c.extension("XInputExtension")
		c.call(op, 47, uint16(2), uint16(2))
		c.send(op, 46, c.root, uint16(1), uint16(0), uint16(1), uint16(1), []byte{0, 1<<5 | 1<<6, 0, 0})
	}, func(e []byte) bool { return e[0] == msgGeneric })
}

func TestKeysHeardByXInput2OnAnothersWindow(t *testing.T) {
	listening(t, func(s *stage, c *client) {
		op := c.extension("XInputExtension")
		c.call(op, 47, uint16(2), uint16(2))
		c.send(op, 46, s.window, uint16(1), uint16(0), uint16(1), uint16(1), []byte{1<<2 | 1<<3, 0, 0, 0})
	}, func(e []byte) bool { return e[0] == msgGeneric })
}

func TestKeysPolled(t *testing.T) {
	modes(t, func(s *stage, c *client) bool {
		s.hands.fake(keyPress, 38, 0, 0)
		defer s.hands.fake(keyRelease, 38, 0, 0)
		r := c.call(44, 0)
		if r[0] != msgReply || len(r) != 40 {
			t.Fatalf("QueryKeymap gave % x", r)
		}
		for _, b := range r[8:] {
			if b != 0 {
				return true
			}
		}
		return false
	}, true)
}

func TestServerHeld(t *testing.T) {
	modes(t, func(s *stage, c *client) bool {
		c.send(36, 0)
		c.sync()
		s.hands.send(43, 0)
		s.hands.conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		held := s.hands.read() == nil
		s.hands.conn.SetReadDeadline(time.Now().Add(time.Minute))
		c.send(37, 0)
		c.sync()
		if held {
			s.hands.answer(s.hands.seq)
		}
		return held
	}, true)
}

// These are refused in every mode.
func TestNeverAllowed(t *testing.T) {
	for _, a := range []struct {
		name   string
		attack func(s *stage, c *client) bool
	}{
		{"KillClient", func(s *stage, c *client) bool {
			return s.w.filter != nil && c.try(113, 0, s.hands.base) != badAccess
		}},
		{"SetAccessControl", func(s *stage, c *client) bool { return c.try(111, 0) != badAccess }},
		{"ChangeHosts", func(s *stage, c *client) bool {
			return c.try(109, 0, byte(0), byte(0), uint16(4), []byte{127, 0, 0, 1}) != badAccess
		}},
		{"ListHosts", func(s *stage, c *client) bool { return c.call(110, 0)[0] == msgReply }},
		{"RandR size", func(s *stage, c *client) bool {
			op := c.extension("RANDR")
			c.call(op, 0, 1, 5)
			return c.try(op, 7, c.root, uint16(1024), uint16(768), 270, 203) != badAccess
		}},
		{"shared memory", func(s *stage, c *client) bool { return c.extension("MIT-SHM") != 0 }},
		{"RECORD", func(s *stage, c *client) bool { return c.extension("RECORD") != 0 }},
		{"RECORD by number", func(s *stage, c *client) bool { return c.call(byte(146), 0, uint16(1), uint16(13))[0] == msgReply }},
		{"sync await", func(s *stage, c *client) bool {
			op := c.extension("SYNC")
			c.call(op, 0, byte(3), byte(1), uint16(0))
			return c.try(op, 7) != badAccess
		}},
		{"slow keys", func(s *stage, c *client) bool {
			op := c.extension("XKEYBOARD")
			c.call(op, 0, uint16(1), uint16(0))
			return c.try(op, 7, make([]byte, 96)) != badAccess
		}},
		{"a window of the window manager", func(s *stage, c *client) bool {
			w := s.hands.window(500, 500, 10, 10, 0)
			c.try(10, 0, w)
			r := s.hands.call(3, 0, w)
			return r[26] != 2 // viewable
		}},
		{"all windows", func(s *stage, c *client) bool { return c.try(11, 0, c.root) != badAccess }},
		{"selection for the root", func(s *stage, c *client) bool {
			return c.try(24, 0, c.root, 1, 31, 39, 0) != badAccess
		}},
	} {
		t.Run(a.name, func(t *testing.T) { modes(t, a.attack, false) })
	}
}

// TestDelayedKeysDoNotWait: a faked event with a delay would be carried out by
// the server after the mode has changed.
func TestDelayedKeysDoNotWait(t *testing.T) {
	s := newStage(t)
	c := s.w.open(false)
	op := c.extension("XTEST")
	began := time.Now()
	c.send(op, 2, byte(keyPress), byte(38), uint16(0), 30_000, 0, 0, 0, 0, 0, 0)
	c.send(op, 2, byte(keyRelease), byte(38), uint16(0), 30_000, 0, 0, 0, 0, 0, 0)
	c.sync()
	if s.victim.drain()[keyPress] != 1 || time.Since(began) > 10*time.Second {
		t.Errorf("the key came after %v, or not", time.Since(began))
	}
}

// TestModeEnds: what was asked for while the workspace was active ends with that.
func TestModeEnds(t *testing.T) {
	s := newStage(t)
	raw, grabber, ear, polite := s.w.open(false), s.w.open(true), s.w.open(false), s.w.open(false)
	op := raw.extension("XInputExtension")
	raw.call(op, 47, uint16(2), uint16(2))
	raw.send(op, 46, raw.root, uint16(1), uint16(0), uint16(1), uint16(1), []byte{0, 1<<5 | 1<<6, 0, 0})
	raw.send(2, 0, raw.root, 1<<11, 1|0x4000)
	raw.sync()
	grabber.send(33, 1, grabber.root, uint16(0x8000), byte(38), byte(1), byte(1), byte(0), uint16(0))
	grabber.sync()
	ear.send(2, 0, s.window, 1<<11, 1)
	ear.sync()
	own := polite.window(300, 300, 20, 20, 1)
	polite.call(31, 1, own, 0, byte(1), byte(1), uint16(0))
	polite.send(32, 0, 0)

	s.w.filter.SetActive(false)
	eventually(t, "the grabber's end", func() bool { return len(s.w.filter.Clients()) == 3 })
	if grabber.read() != nil || ear.read() != nil {
		t.Error("a grab on others' windows outlived the mode")
	}
	s.victim.focus(s.window)
	s.typed()
	if n := s.victim.drain(); n[keyPress] != 1 {
		t.Errorf("the victim heard %v", n)
	}
	if n := raw.drain(); n[msgGeneric] != 0 || n[keyPress] != 0 {
		t.Errorf("raw events came: %v", n)
	}
	if !polite.sync() {
		t.Error("a client with a grab of its own window was ended")
	}
	s.w.filter.SetActive(true)
	s.typed()
	if n := raw.drain(); n[msgGeneric] == 0 {
		t.Errorf("raw events do not come again: %v", n)
	}
}

// TestServerHeldTooLong: five seconds, and the display goes on.
func TestServerHeldTooLong(t *testing.T) {
	s := newStage(t)
	a, b := s.w.open(false), s.w.open(false)
	a.send(36, 0)
	a.sync()
	b.send(36, 0) // waits for its turn, which is not its fault
	began := time.Now()
	if !s.hands.sync() {
		t.Fatal("the supervisor's connection ended")
	}
	if d := time.Since(began); d > 2*maxGrab+2*time.Second {
		t.Errorf("the server was held for %v", d)
	}
	if a.read() != nil {
		t.Error("who held the server is still connected")
	}
	eventually(t, "the refusal", func() bool { return s.w.told("GrabServer for too long") })
}

// TestNothingNamesVNC: neither by name nor by a number that was found out.
func TestNothingNamesVNC(t *testing.T) {
	w := newWorld(t)
	w.filter.SetActive(true)
	hands, c := w.direct(), w.open(true)
	for _, name := range forbiddenAtoms {
		real := hands.atom(name)
		if got := c.atom(name); got == real {
			t.Errorf("%s has its own number %d inside", name, got)
		}
		for _, try := range []int{
			c.try(18, 0, c.root, real, 31, byte(8), []byte{0, 0, 0}, 4, "evil"),
			c.try(19, 0, c.root, real),
			c.try(114, 0, c.root, uint16(2), uint16(1), 39, real),
		} {
			if try != badAccess {
				t.Errorf("%s by number: error %d, want %d", name, try, badAccess)
			}
		}
		if out := hands.call(20, 0, hands.root, real, 0, 0, 100); hands.order.u32(out[8:]) != 0 {
			t.Errorf("%s was written", name)
		}
	}
}

// TestNoDescriptorCrosses: what is passed in either direction is not there.
func TestNoDescriptorCrosses(t *testing.T) {
	w := newWorld(t)
	c := w.open(false)
	r, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sent := sendDescriptor(t, c, out)
	out.Close()
	if !sent || !c.sync() {
		t.Fatal("the request with a descriptor did not pass")
	}
	r.SetReadDeadline(time.Now().Add(5 * time.Second))
	if n, err := r.Read(make([]byte, 1)); n != 0 || os.IsTimeout(err) {
		t.Errorf("somebody holds the descriptor: %d %v", n, err)
	}
}

func sendDescriptor(t *testing.T, c *client, f *os.File) bool {
	u, ok := c.conn.(interface{ File() (*os.File, error) })
	if !ok {
		return false
	}
	dup, err := u.File()
	if err != nil {
		t.Fatal(err)
	}
	defer dup.Close()
	c.seq++
	return unix.Sendmsg(int(dup.Fd()), c.req(127, 0), unix.UnixRights(int(f.Fd())), nil, 0) == nil
}

// TestOwners: windows are told apart, and the kernel says who connected.
func TestOwners(t *testing.T) {
	w := newWorld(t)
	c := w.open(false)
	id := c.window(0, 0, 10, 10, 0)
	got, ok := w.filter.Owner(id)
	if !ok || got.PID != os.Getpid() || got.Base != c.base {
		t.Errorf("Owner(%#x) = %+v, %v; want pid %d and base %#x", id, got, ok, os.Getpid(), c.base)
	}
	if _, ok := w.filter.Owner(c.root); ok {
		t.Error("the root belongs to a client")
	}
	c.conn.Close()
	eventually(t, "no clients", func() bool { return len(w.filter.Clients()) == 0 })
	w.mu.Lock()
	defer w.mu.Unlock()
	if fmt.Sprint(w.counts) != "[1 0]" {
		t.Errorf("told %v clients, want [1 0]", w.counts)
	}
}

// TestWhatIsMissed: what programs ask for and is not there is told once; what they are
// not to know of is not.
func TestWhatIsMissed(t *testing.T) {
	w := newWorld(t)
	c := w.open(false)
	for _, name := range []string{"GLX", "GLX", "RENDER", "MIT-SHM", "NO-SUCH"} {
		if there := c.extension(name) != 0; there != (name == "RENDER") {
			t.Errorf("%s is there: %v", name, there)
		}
	}
	if got := w.lacked(); fmt.Sprint(got) != "[GLX]" {
		t.Errorf("told to be missing: %q", got)
	}
}

// TestWrongCookie: a proper refusal, in either byte order.
func TestWrongCookie(t *testing.T) {
	w := newWorld(t)
	for _, o := range []offer{
		{name: cookieName, data: w.cookie}, // the server's own is nobody's here
		{order: true, name: cookieName, data: w.mine[:15]},
		{name: "XDM-AUTHORIZATION-1", data: w.mine},
		{order: true},
	} {
		c := dialFilter(t, w)
		c.Write(o.request())
		_, _, err := readWelcome(c, o.order)
		if err == nil || !strings.Contains(err.Error(), "Authorization required") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if out, err := w.run("env", "XAUTHORITY=/dev/null", "xdpyinfo"); err == nil {
		t.Errorf("xdpyinfo without a cookie: %s", out)
	}
}
