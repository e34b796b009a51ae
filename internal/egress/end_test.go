package egress

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"
)

// streaming gives an answer that has begun and does not end, by plain HTTP.
func (d *desk) streaming() (io.Reader, chan error) {
	d.t.Helper()
	saw := make(chan error, 1)
	d.serve(addrA+":80", func(c net.Conn) {
		br := bufio.NewReader(c)
		_, _ = http.ReadRequest(br)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegun")
		_, err := io.Copy(io.Discard, br)
		saw <- err
	})
	c := d.open()
	_, _ = io.WriteString(c, "GET http://a.example/ HTTP/1.1\r\nHost: x\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, 5)); err != nil {
		d.t.Fatal(err)
	}
	return resp.Body, saw
}

// A request that is being answered ends like a tunnel: both sides see a reset.
func TestAnswersEnd(t *testing.T) {
	for name, end := range map[string]func(*desk){
		"the rules change":   func(d *desk) { d.e.SetRules(rules(t, []string{"GET http://a.example/other"})) },
		"the workspace ends": func(d *desk) { d.e.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.name("a.example", addrA)
			d := w.desk(rules(t, []string{"a.example"}))
			body, saw := d.streaming()
			start := time.Now()
			end(d)
			_, err := io.ReadAll(body)
			for who, err := range map[string]error{"client": err, "server": <-saw} {
				if !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("the %s saw %v", who, err)
				}
			}
			if took := time.Since(start); took > time.Second {
				t.Errorf("it took %v", took)
			}
			want(t, "code", w.waitAttempt(0).Code, CodeEnded)
		})
	}
}

// Clients that say a little and then nothing hold their places for a while
// only.
func TestSlowClientsGiveTheirPlacesBack(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.serve(addrA+":9", echo)
	w.tune = func(e *Engine) { e.most, e.patience = 60, 300*time.Millisecond }
	d := w.desk(rules(t, []string{"a.example"}))
	for n := range 60 {
		c := d.open()
		_, _ = io.WriteString(c, []string{"G", "CONNECT a.exam", "\x05", "\x05\x02\x00", "GET http://a.example/ HTTP/1.1\r\nHost"}[n%5])
	}
	has(t, "while they hold them", d.say("CONNECT a.example:9 HTTP/1.1\r\nHost: x\r\n\r\n"), "503")
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		_, _, resp := d.connect("a.example:9")
		if resp.StatusCode == 200 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("still %d", resp.StatusCode)
		}
	}
}

// A client that does not read what it asked for stops nobody else, and its
// connection can be ended.
func TestClientThatDoesNotRead(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.serve(addrA+":9", func(c net.Conn) { _, _ = io.Copy(c, zeros{}) })
	w.name("b.example", addrB)
	w.serve(addrB+":9", echo)
	d := w.desk(rules(t, []string{"**.example"}))
	for range 2 * maxFast {
		d.connect("a.example:9")
	}
	time.Sleep(100 * time.Millisecond)
	c, br, _ := d.connect("b.example:9")
	_, _ = io.WriteString(c, "\x01")
	if _, err := br.ReadByte(); err != nil {
		t.Error(err)
	}
	start := time.Now()
	d.e.SetRules(rules(t, []string{"b.example"}))
	for n := range 2 * maxFast {
		want(t, fmt.Sprint("code ", n), w.waitAttempt(n).Code, CodeEnded)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}
