package egress

import (
	"errors"
	"io"
	"net"
	"time"
)

// tunnel carries a connection that was asked for by name. The far side is
// there already; what it says first goes to the client at once, while the
// client's first bytes are looked at before they are passed on. It reports a.
func (c *client) tunnel(a *attempt, g grant, r *route) {
	s := &splice{c: c, far: r.Conn, fast: c.e.fast}
	defer c.e.release(r.Conn)
	u, err := c.e.using(g, r.addr.Addr(), s.cut)
	if err != nil {
		s.cut()
		a.end(err)
		return
	}
	defer c.e.forget(u)
	s.goDown()
	o, err := c.opening()
	if err == nil && o.kind == plainHTTP && s.recall() {
		c.serveHTTP(&origin{grant: g, via: r, opening: o.text})
		return
	}
	if err == nil {
		err = c.vet(&o, g, s)
	}
	var last []byte
	if err == nil {
		err = s.run()
	} else {
		last, err = s.refuse(o.kind, err)
	}
	a.rec.Sent, a.rec.Received = s.up, s.down
	a.end(c.e.ending(u, err))
	if last != nil {
		c.farewell(last)
	}
}

// ending says why something ended, where that was our doing.
func (e *Engine) ending(u *use, err error) error {
	switch {
	case u.ended.Load():
		return &refusal{code: CodeEnded, host: u.grant.target.Host, reason: "the rules do not allow it any more"}
	case err != nil && e.over():
		return &failure{code: CodeEnded, err: errors.New("the workspace ended")}
	}
	return err
}

// vet decides on the opening and passes it on.
func (c *client) vet(o *opening, g grant, s *splice) error {
	switch o.kind {
	case plainHTTP:
		return malformed("an HTTP request on a connection where the server spoke first")
	case http2:
		return noHTTP2()
	case hello:
		return c.vetHellos(o.text, g, s)
	}
	return s.pass(o.text)
}

// vetHellos looks at the ClientHello and at a second one, which a server may
// ask for and which may name another host.
func (c *client) vetHellos(b []byte, g grant, s *splice) error {
	b, used, err := c.vetTLS(b, g)
	if err == nil {
		err = s.pass(b[:used])
	}
	if err != nil {
		return err
	}
	for b = b[used:]; ; {
		for len(b) < 6 {
			if b, err = c.more(b); errors.Is(err, io.EOF) {
				return s.pass(b)
			} else if err != nil {
				return err
			}
		}
		n := 5 + int(b[3])<<8 + int(b[4])
		switch {
		case b[0] == recordHandshake && b[5] == messageHello:
			if b, _, err = c.vetTLS(b, g); err != nil {
				return err
			}
			return s.pass(b)
		case b[0] == recordChange && n == 6:
			if err := s.pass(b[:n]); err != nil {
				return err
			}
			b = b[n:]
		default:
			return s.pass(b)
		}
	}
}

// splice copies between a client and the far side.
type splice struct {
	c        *client
	far      net.Conn
	fast     chan struct{}
	up, down int64

	downward over // once downDone is closed
	downDone chan struct{}
}

// over is how one direction ended: at the end of what it reads, or with an
// error of the side that it reads or writes.
type over struct {
	upward      bool
	read, write error
}

func (o over) clean() bool { return o.read == nil && o.write == nil }

// cut ends both sides with a reset.
func (s *splice) cut() {
	reset(s.far)
	reset(s.c.Conn)
}

func (s *splice) goDown() {
	s.downDone = make(chan struct{})
	go func() {
		defer close(s.downDone)
		var n int64
		n, s.downward.read, s.downward.write = transfer(s.c.Conn, s.far, -1, s.fast)
		s.down += n
		switch {
		case s.downward.clean():
			closeWrite(s.c.Conn)
		case s.downward.read != nil && !isTimeout(s.downward.read):
			s.cut() // what it sent is not whole: nobody is to wait for more
		}
	}()
}

// recall stops the downward copy for somebody who wants to speak for the far
// side, or to read it; false when something has come already.
func (s *splice) recall() bool {
	insist(s.downDone, func() { _ = s.far.SetReadDeadline(time.Unix(1, 0)) })
	_ = s.far.SetReadDeadline(time.Time{})
	return s.down == 0 && isTimeout(s.downward.read)
}

// refuse ends a tunnel whose opening was not passed on. Where the client is there still,
// last is to be told to it, in the words of its protocol.
func (s *splice) refuse(k kind, err error) (last []byte, _ error) {
	var r *refusal
	if errors.As(err, &r) && (k == hello || k == http2) && s.recall() {
		reset(s.far)
		if k == http2 {
			return goAway(r), err
		}
		return tlsAlert, err
	}
	s.cut()
	<-s.downDone
	if r == nil {
		err = s.blame(s.downward, over{upward: true, read: err})
	}
	return nil, err
}

// noHTTP2 refuses HTTP/2 without TLS, whose requests cannot be read one by one here.
func noHTTP2() *refusal {
	r := notCarried("HTTP/2 in the clear is not carried")
	r.hint = "HTTP/1.1, or HTTP/2 in TLS, is"
	return r
}

// goAway tells a client of HTTP/2 to speak HTTP/1.1, by the frames of RFC 9113: SETTINGS,
// with which a server begins, and GOAWAY with the reason.
func goAway(r *refusal) []byte {
	const settings, goaway, http11Required = 4, 7, 0xd
	text := text("", r)
	text = text[:min(len(text), 1<<10)]
	b := []byte{0, 0, 0, settings, 0, 0, 0, 0, 0}
	b = append(b, 0, byte((8+len(text))>>8), byte(8+len(text)), goaway, 0, 0, 0, 0, 0)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, http11Required)
	return append(b, text...)
}

// pass sends what was looked at.
func (s *splice) pass(b []byte) error {
	n, err := s.far.Write(b)
	s.up += int64(n)
	return err
}

// run copies upwards until both directions have ended.
func (s *splice) run() error {
	s.c.within(0)
	var upward over
	upDone := make(chan struct{})
	go func() {
		defer close(upDone)
		upward = s.upward()
	}()
	select {
	case <-upDone:
		s.after(upward, s.far, s.downDone)
	case <-s.downDone:
		s.after(s.downward, s.c.Conn, upDone)
	}
	<-upDone
	<-s.downDone
	if upward.clean() && s.downward.clean() {
		return nil
	}
	if s.downward.clean() && upward.read == nil {
		// Who reads no more has ended its sending before. What it sent may be on
		// its way still, and would be lost if what the client says stayed unread.
		s.c.within(2 * time.Second)
		_, _ = io.Copy(io.Discard, s.c.Conn)
		return nil
	}
	s.cut()
	return s.blame(s.downward, upward)
}

// after sees to the other direction once one has ended. After an end it may
// take for ever: half a connection is a connection. After an error nothing is
// whole any more; only a side that stopped reading may have something to say.
func (s *splice) after(first over, dst net.Conn, other <-chan struct{}) {
	switch {
	case first.read != nil:
		s.cut()
	case first.write != nil:
		_ = dst.SetReadDeadline(time.Now().Add(2 * time.Second))
	}
	<-other
}

func (s *splice) upward() over {
	o := over{upward: true}
	b, _ := s.c.br.Peek(s.c.br.Buffered())
	if o.write = s.pass(b); o.write != nil {
		return o
	}
	s.c.br = nil // 4 KiB for each idle connection
	var n int64
	n, o.read, o.write = transfer(s.far, s.c.Conn, -1, s.fast)
	s.up += n
	if o.clean() {
		closeWrite(s.far)
	}
	return o
}

// blame says which side ended it. What is closed was closed by us, for the
// other's sake.
func (s *splice) blame(ends ...over) error {
	for _, o := range ends {
		err, program := o.read, o.upward
		if err == nil {
			err, program = o.write, !o.upward
		}
		if err == nil || errors.Is(err, net.ErrClosed) {
			continue
		}
		if program {
			return &failure{code: CodeGone, err: errors.New("the program ended the connection in the middle")}
		}
		break
	}
	return &failure{code: CodeBroken, err: errors.New("the far side ended the connection in the middle")}
}
