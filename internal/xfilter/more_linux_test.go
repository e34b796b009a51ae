package xfilter

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestX11vncIsToldNothing: a real x11vnc with its remote control on, which obeys
// who writes a property of the root. Through the filter nobody does.
func TestX11vncIsToldNothing(t *testing.T) {
	needs(t, "x11vnc", "xprop")
	w := newWorld(t)
	w.filter.SetActive(true)
	outside := append(os.Environ(), "DISPLAY=:"+strings.TrimPrefix(w.real, "/tmp/.X11-unix/X"), "XAUTHORITY="+w.auth)
	vnc := exec.Command("x11vnc", "-localhost", "-rfbport", "0", "-unixsock", t.TempDir()+"/vnc", "-forever", "-noxdamage", "-nopw", "-noshm", "-quiet")
	vnc.Env = outside
	newGroup(vnc)
	if err := vnc.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { vnc.Wait(); close(ended) }()
	t.Cleanup(func() { killGroup(vnc); <-ended })
	hands := w.direct()
	eventually(t, "x11vnc", func() bool {
		atom := hands.atom("X11VNC_TICKER")
		return hands.order.u32(hands.call(20, 0, hands.root, atom, 0, 0, 1)[8:]) != 0
	})
	stop := []string{"-root", "-f", "X11VNC_REMOTE", "8s", "-set", "X11VNC_REMOTE", "cmd=stop"}
	w.must(append([]string{"xprop"}, stop...)...)
	select {
	case <-ended:
		t.Fatal("x11vnc took an order through the filter")
	case <-time.After(3 * time.Second):
	}
	if !w.told("VNC") {
		t.Error("nothing told of it")
	}
	order := exec.Command("xprop", stop...) // the canary
	order.Env = outside
	if out, err := order.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("x11vnc takes no order without the filter either: the test shows nothing")
	}
}

// TestActiveTools: what agents use for their own desktop works while the
// workspace is active.
func TestActiveTools(t *testing.T) {
	needs(t, "xdotool", "xinput", "xterm", "setxkbmap", "xset")
	w := newWorld(t)
	w.filter.SetActive(true)
	file := t.TempDir() + "/typed"
	w.start("xterm", "-e", "sh", "-c", "read line; echo \"$line\" > "+file+"; sleep 60")
	id := strings.TrimSpace(w.must("xdotool", "search", "--sync", "--onlyvisible", "--class", "xterm"))
	w.must("xdotool", "windowfocus", "--sync", id)
	w.start("xinput", "test-xi2", "--root")
	time.Sleep(300 * time.Millisecond)
	w.must("xdotool", "mousemove", "100", "120", "type", "Zürich")
	w.must("xdotool", "key", "Return")
	eventually(t, "what was typed", func() bool {
		b, _ := os.ReadFile(file)
		return len(b) > 0
	})
	if b, _ := os.ReadFile(file); !strings.HasSuffix(string(b), "rich\n") {
		t.Errorf("typed %q", b)
	}
	if out := w.must("xdotool", "getmouselocation"); !strings.HasPrefix(out, "x:100 y:120") {
		t.Errorf("the pointer is at %s", out)
	}
	w.must("setxkbmap", "de")
	w.must("xset", "s", "off")
	w.filter.SetActive(false)
	if out, err := w.run("xdotool", "key", "a"); err == nil || !strings.Contains(out, "BadAccess") {
		t.Errorf("xdotool key while not active: %v %s", err, out)
	}
}

// TestFlood: who sends nothing but what is refused, and does not read, is
// disconnected or waits; others go on.
func TestFlood(t *testing.T) {
	w := newWorld(t)
	c, polite := w.open(false), w.open(true)
	op := c.extension("XTEST")
	one := c.req(op, 2, byte(keyPress), byte(38), uint16(0), 0, 0, 0, 0, 0, 0, 0)
	many := make([]byte, 0, 1000*len(one))
	for range 1000 {
		many = append(many, one...)
	}
	c.conn.SetWriteDeadline(time.Now().Add(3 * time.Second))
	for range 200 {
		if _, err := c.conn.Write(many); err != nil {
			break
		}
	}
	began := time.Now()
	if !polite.sync() || time.Since(began) > 2*time.Second {
		t.Errorf("another client waited %v", time.Since(began))
	}
	w.mu.Lock()
	n := len(w.refusals)
	w.mu.Unlock()
	if n > 20 {
		t.Errorf("%d refusals were told of one flood", n)
	}
}

// TestConnections: more than are carried are closed; who says nothing is too.
func TestConnections(t *testing.T) {
	w := newWorld(t)
	var open []net.Conn
	for range MaxClients + 20 {
		open = append(open, dialFilter(t, w))
	}
	for i, c := range open {
		over, wait := i >= MaxClients, time.Millisecond
		if over {
			wait = 5 * time.Second
		}
		c.SetReadDeadline(time.Now().Add(wait))
		if _, err := c.Read(make([]byte, 1)); over == os.IsTimeout(err) {
			t.Errorf("connection %d of %d: %v", i+1, len(open), err)
		}
	}
	for _, c := range open {
		c.Close()
	}
	eventually(t, "room for a client", func() bool {
		c := dialFilter(t, w)
		defer c.Close()
		c.Write(offer{name: cookieName, data: w.mine}.request())
		_, _, err := readWelcome(c, false)
		return err == nil
	})
}

// TestServerIsReplaced: the server ends, its clients too, and the next client
// comes to the next server, whose numbers are asked for again.
func TestServerIsReplaced(t *testing.T) {
	w := newWorld(t)
	c := w.open(false)
	w.endServer()
	if c.read() != nil {
		t.Fatal("the connection outlived its server")
	}
	w.real, w.cookie = server(t, w)
	next := w.open(false)
	hands := w.direct()
	w.filter.SetActive(true)
	if got, real := next.atom("X11VNC_REMOTE"), hands.atom("X11VNC_REMOTE"); got == real {
		t.Errorf("X11VNC_REMOTE has its own number %d at the second server", got)
	}
	if got := next.try(18, 0, next.root, hands.atom("VNC_CONNECT"), 31, byte(8), []byte{0, 0, 0}, 0); got != badAccess {
		t.Errorf("VNC_CONNECT by number: %d", got)
	}
}

// TestNoServer: a display that cannot be had is a refusal with words, and told.
func TestNoServer(t *testing.T) {
	w := newWorld(t)
	w.real += ".none"
	c := dialFilter(t, w)
	c.Write(offer{order: true, name: cookieName, data: w.mine}.request())
	if _, _, err := readWelcome(c, true); err == nil || !strings.Contains(err.Error(), "could not be reached") {
		t.Errorf("%v", err)
	}
	eventually(t, "the failure", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.failures) == 1 })
}

// TestServeEnds: with its context, though clients are connected.
func TestServeEnds(t *testing.T) {
	w := newWorld(t)
	f := New(Config{Cookie: w.mine, Dial: w.dial})
	path := t.TempDir() + "/X"
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Serve(ctx, l) }()
	c := openAt(t, path, w.mine, false)
	silent, _ := net.Dial("unix", path)
	defer silent.Close()
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Serve goes on")
	}
	if c.read() != nil {
		t.Error("a client is still connected")
	}
}

// A grab for a window of one's own is allowed, for menus. One that hands each key on
// after it was heard would never be noticed.
func TestKeysHeardAndHandedOn(t *testing.T) {
	const syncKeyboard, replayKeyboard, syncDevice, replayDevice = 4, 5, 1, 2
	for name, hand := range map[string]func(c *client, mode byte){
		"core": func(c *client, mode byte) {
			c.send(35, map[byte]byte{syncDevice: syncKeyboard, replayDevice: replayKeyboard}[mode], 0)
		},
		"XInput 2": func(c *client, mode byte) {
			c.send(c.ext["XInputExtension"][0], 53, 0, uint16(3), mode, byte(0), 0, 0)
		},
		"XInput 1": func(c *client, mode byte) {
			c.send(c.ext["XInputExtension"][0], 19, 0, mode, byte(3), uint16(0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			modes(t, func(s *stage, c *client) bool {
				op := c.extension("XInputExtension")
				c.call(op, 47, uint16(2), uint16(2))
				own := c.window(300, 300, 5, 5, 1)
				s.victim.focus(s.window)
				s.victim.drain()
				c.call(31, 0, own, 0, byte(1), byte(0), uint16(0))
				hand(c, syncDevice)
				c.sync()
				s.typed()
				heard := c.drain()[keyPress] > 0
				hand(c, replayDevice)
				c.send(32, 0, 0)
				c.sync()
				handedOn := s.victim.drain()[keyPress] > 0
				return heard && handedOn
			}, true)
		})
	}
}

// Two programs together: one has its window put into the victim's by the other, which
// alone is disconnected when the mode changes.
func TestKeysHeardFromWithinByTwo(t *testing.T) {
	s := newStage(t)
	ear, helper := s.w.open(false), s.w.open(false)
	own := ear.window(300, 300, 200, 200, 1)
	if e := helper.try(7, 0, own, s.window, uint16(0), uint16(0)); e != 0 {
		t.Fatalf("reparenting while active: error %d", e)
	}
	s.w.filter.SetActive(false)
	eventually(t, "the helper's end", func() bool { return helper.read() == nil })
	s.hands.focus(s.window)
	s.typed()
	if n := s.victim.drain()[keyPress]; n != 1 {
		t.Errorf("the victim was told of %d keys, want 1", n)
	}
	ear.conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	for m := ear.read(); m != nil; m = ear.read() { // up to its end
		if isKey(m) {
			t.Error("a key was heard")
		}
	}
}
