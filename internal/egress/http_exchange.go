package egress

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync/atomic"
	"time"
)

// maxAnswerHead bounds the head of an answer, maxEarly what may come before it.
const (
	maxAnswerHead = 256 << 10
	maxEarly      = 32
)

// farSide is a connection to a server of plain HTTP.
type farSide struct {
	*route
	to     place
	br     *bufio.Reader
	budget *int // bytes that br may still read; see head
}

func newFarSide(r *route, to place) *farSide {
	f := &farSide{route: r, to: to, budget: new(int)}
	f.br = bufio.NewReaderSize(f, readAhead)
	return f
}

// Read is for br: a head is bounded.
func (f *farSide) Read(b []byte) (int, error) {
	if *f.budget <= 0 {
		return 0, fmt.Errorf("its head is longer than %d bytes", maxAnswerHead)
	}
	n, err := f.Conn.Read(b[:min(len(b), *f.budget)])
	*f.budget -= n
	return n, err
}

// head reads the head of an answer to method.
func (f *farSide) head(method string) (*http.Response, error) {
	*f.budget = maxAnswerHead
	resp, err := http.ReadResponse(f.br, &http.Request{Method: method})
	*f.budget = int(^uint(0) >> 1)
	return resp, err
}

// talk is one request and its answer.
type talk struct {
	h              *conversation
	r              *request
	far            *farSide
	sent, received int64

	goneFlag atomic.Bool
	whole    bool // the request was sent to its end; once done is closed
	done     chan struct{}
	started  bool // the client was told something of the answer
	parting  bool // the connection ends in peace, with last said
	last     []byte
}

// cut ends both sides with a reset.
func (t *talk) cut() {
	reset(t.far.Conn)
	reset(t.h.c.Conn)
}

func (t *talk) run() (again bool, err error) {
	t.done = make(chan struct{})
	go t.send(t.begin())
	resp, err := t.answer()
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols {
		return false, t.upgrade(resp)
	}
	var keep bool
	if err == nil {
		keep, err = t.pass(resp)
	}
	t.stop()
	switch {
	case err != nil && t.goneFlag.Load():
		t.cut()
		return false, &failure{code: CodeGone, err: errors.New("the program ended the connection in the middle")}
	case err != nil && !t.started:
		t.h.hangUp()
		t.parting, t.last = true, answer(t.r.target.Host, err)
		return false, err
	case err != nil:
		t.cut()
		return false, err
	}
	if !t.whole || resp.Close {
		t.h.hangUp()
	}
	t.parting = !keep || !t.whole
	return !t.parting, nil
}

// begin sends the head, and of a sized body what is there already; it tells how
// much that is.
func (t *talk) begin() (ahead int64, err error) {
	c, credentials := t.h.c, ""
	if t.far.absolute {
		credentials = c.e.cfg.Upstream.credentials()
	}
	head := t.r.head(t.r.target.Host, t.far.absolute, credentials)
	head, ahead = withBuffered(head, c.br, t.r.length)
	_, err = counted{t.far.Conn, &t.sent}.Write(head)
	return ahead, err
}

// withBuffered adds to b what br holds of a body of that length.
func withBuffered(b []byte, br *bufio.Reader, length int64) ([]byte, int64) {
	n := max(0, min(int64(br.Buffered()), length))
	body, _ := br.Peek(int(n))
	b = append(b, body...)
	_, _ = br.Discard(int(n))
	return b, n
}

// send sends the rest of the request and then looks whether the client goes
// away.
func (t *talk) send(ahead int64, err error) {
	defer close(t.done)
	if err != nil {
		return
	}
	if err := t.body(ahead); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			t.gone()
		}
		return
	}
	t.whole = true
	t.h.c.lookout(t.gone)
}

func (t *talk) gone() {
	t.goneFlag.Store(true)
	reset(t.far.Conn)
}

// body sends what is left of the body.
func (t *talk) body(ahead int64) error {
	c := t.h.c
	switch {
	case t.r.length == ahead:
		return nil
	case t.r.length < 0:
		_, read, write := writeChunks(counted{t.far.Conn, &t.sent}, httputil.NewChunkedReader(c.br), func() (http.Header, error) { return readTrailer(c.br) })
		return errors.Join(read, write)
	}
	n, read, write := transfer(t.far.Conn, c.Conn, t.r.length-ahead, c.e.fast)
	t.sent += n
	if read == nil && write == nil && ahead+n < t.r.length {
		read = io.ErrUnexpectedEOF
	}
	return errors.Join(read, write)
}

// readTrailer reads what follows the last chunk.
func readTrailer(br *bufio.Reader) (http.Header, error) {
	h := http.Header{}
	for left := maxTrailer; ; {
		line, err := br.ReadSlice('\n')
		if left -= len(line); err != nil || left < 0 {
			return nil, malformed("a trailer that is too long or not whole")
		}
		if string(line) == "\r\n" {
			return h, nil
		}
		text, ok := strings.CutSuffix(string(line), "\r\n")
		if !ok || strings.ContainsFunc(text, control) {
			return nil, malformed("a control byte in a trailer")
		}
		fields, err := parseFields([]string{text}, 1)
		if err != nil {
			return nil, err
		}
		h.Add(fields[0].name, fields[0].value)
		if len(h) > maxFields {
			return nil, malformed("more than %d trailers", maxFields)
		}
	}
}

// stop ends sending: when the answer is there, the rest of a request is of no
// use to anybody.
func (t *talk) stop() {
	c := t.h.c
	insist(t.done, func() {
		c.within(-1)
		_ = t.far.SetWriteDeadline(time.Unix(1, 0))
	})
	_ = t.far.SetWriteDeadline(time.Time{})
	c.within(0)
}

// answer reads the head of the answer and passes on what comes before it.
func (t *talk) answer() (*http.Response, error) {
	for early := 0; ; early++ {
		resp, err := t.far.head(t.r.method)
		switch {
		case err != nil:
			return nil, &failure{code: CodeBroken, err: fmt.Errorf("reading the answer of %s: %w", t.far.to.host, err)}
		case resp.StatusCode == http.StatusProxyAuthRequired && t.far.absolute:
			return nil, &failure{code: CodeDial, err: errors.New("the host's own proxy does not accept our credentials")}
		case resp.StatusCode == http.StatusSwitchingProtocols:
			if !t.r.socket || !strings.EqualFold(resp.Header.Get("Upgrade"), "websocket") {
				return nil, &failure{code: CodeBroken, err: errors.New("the server changed to a protocol that nobody asked for")}
			}
			return resp, nil
		case resp.StatusCode >= 200:
			return resp, nil
		case early >= maxEarly:
			return nil, &failure{code: CodeBroken, err: errors.New("the server announces its answer too often")}
		}
		if !t.r.old {
			if err := t.tell(responseHead(resp, false, false)); err != nil {
				return nil, err
			}
		}
	}
}

// tell writes to the client.
func (t *talk) tell(b []byte) error {
	_, err := counted{t.h.c.Conn, &t.received}.Write(b)
	if err != nil {
		t.goneFlag.Store(true)
	}
	return err
}

// pass passes the answer on; keep says that the client can tell where it ends.
func (t *talk) pass(resp *http.Response) (keep bool, err error) {
	empty := t.r.method == http.MethodHead || resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified
	open := !empty && resp.ContentLength < 0
	chunked := open && !t.r.old
	last := t.r.last || open && !chunked
	head, ahead := responseHead(resp, chunked, last), int64(0)
	if !empty {
		head, ahead = withBuffered(head, t.far.br, resp.ContentLength)
	}
	t.started = true
	if err := t.tell(head); err != nil || empty {
		return !last, err
	}
	var read, write error
	to := counted{t.h.c.Conn, &t.received}
	switch {
	case chunked:
		_, read, write = writeChunks(to, resp.Body, func() (http.Header, error) { return resp.Trailer, nil })
	case open:
		_, read, write = transferAny(to, resp.Body, -1)
	default:
		read, write = t.sized(ahead, resp.ContentLength)
	}
	if write != nil {
		t.goneFlag.Store(true)
		return false, write
	}
	if read != nil {
		return false, &failure{code: CodeBroken, err: errors.New("the far side ended the connection in the middle")}
	}
	return !last, nil
}

// sized passes on a body of known length, of which some is sent already, from
// connection to connection.
func (t *talk) sized(ahead, length int64) (read, write error) {
	n, read, write := transfer(t.h.c.Conn, t.far.Conn, length-ahead, t.h.c.e.fast)
	t.received += n
	if read == nil && write == nil && ahead+n < length {
		read = io.ErrUnexpectedEOF
	}
	return read, write
}

// upgrade passes on the answer to a websocket's request and joins both sides.
func (t *talk) upgrade(resp *http.Response) error {
	c := t.h.c
	t.stop()
	if !t.whole {
		t.cut()
		return &failure{code: CodeGone, err: errors.New("the program ended the connection in the middle")}
	}
	ahead, _ := t.far.br.Peek(t.far.br.Buffered())
	if err := t.tell(append(responseHead(resp, false, false), ahead...)); err != nil {
		t.cut()
		return err
	}
	s := &splice{c: c, far: t.far.Conn, fast: c.e.fast}
	s.goDown()
	err := s.run()
	t.sent += s.up
	t.received += s.down
	return err
}
