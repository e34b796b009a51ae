package rfb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

// Bounds on who comes. A viewer asks its person for the password in the middle of the
// handshake, so that has its time.
const (
	maxWatches  = 16 // passwords at a time
	maxGuests   = 4  // connections that have not shown a password yet
	maxWrong    = 5  // passwords in a row, then none is looked at until some time has gone
	wrongEach   = 12 * time.Second
	versionTime = 5 * time.Second
	typeTime    = 2 * time.Minute
	serverTime  = 30 * time.Second // for a server to come up
)

// Config is what a [Service] needs of others. Its functions may be called concurrently.
type Config struct {
	// Dial starts a server for one viewer and gives the connection to it. It asks for
	// no password. The server ends when the connection does.
	Dial func(context.Context) (net.Conn, error)
	// Mine says whether the other end of a connection may show a password.
	Mine func(net.Conn) bool
	// Tell hears of viewers that come and go, and Refused of those that were turned
	// away, as often as that happens: sentences without secrets.
	Tell, Refused func(string)
}

// Service lets viewers watch one display. Its methods may be called concurrently.
type Service struct {
	cfg    Config
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	guests chan struct{}

	mu      sync.Mutex
	input   bool
	watches []*Watch
	who     *Watch             // that the viewer came with; nil for no viewer
	leave   context.CancelFunc // ends that
	now     *relay             // nil while its server is being started
	wrong   float64
	since   time.Time // when wrong was counted
}

// Watch is the right to watch, which somebody was given.
type Watch struct {
	s        *Service
	password string
	acts     bool
}

// New makes a service that admits nobody yet.
func New(c Config) *Service {
	s := &Service{cfg: c, guests: make(chan struct{}, maxGuests)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Listen takes a port of this machine's loopback: this one, or for 0 the first that is
// free of those from first on.
func Listen(port, first, last uint16) (*net.TCPListener, error) {
	if port != 0 {
		first, last = port, port
	}
	var l net.Listener
	var err error
	for p := int(first); p <= int(last); p++ {
		if l, err = net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", p)); err == nil {
			return l.(*net.TCPListener), nil
		}
	}
	if first != last {
		err = fmt.Errorf("no port from %d to %d is free: %w", first, last, err)
	}
	return nil, err
}

// Serve accepts viewers until the listener or the service is closed.
func (s *Service) Serve(l net.Listener) {
	defer context.AfterFunc(s.ctx, func() { l.Close() })()
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors, most likely
			time.Sleep(10 * time.Millisecond)
			continue
		}
		select {
		case s.guests <- struct{}{}:
		default:
			conn.Close()
			continue
		}
		s.mu.Lock()
		if s.ctx.Err() == nil {
			s.wg.Go(func() { s.meet(conn) })
		} else {
			conn.Close()
		}
		s.mu.Unlock()
	}
}

// Admit gives a right to watch, with a password of its own. acts says that whoever has
// it may press keys while input is allowed.
func (s *Service) Admit(acts bool) (*Watch, error) {
	password, err := newPassword()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.watches) >= maxWatches {
		return nil, fmt.Errorf("%d watch already, which is as many as may", maxWatches)
	}
	w := &Watch{s: s, password: password, acts: acts}
	s.watches = append(s.watches, w)
	return w, nil
}

// Password is what a viewer has to be told.
func (w *Watch) Password() string { return w.password }

// Acts says whether its viewer may act while input is allowed.
func (w *Watch) Acts() bool { return w.acts }

// Close takes the right back, and ends the viewer that uses it.
func (w *Watch) Close() {
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches = slices.DeleteFunc(s.watches, func(one *Watch) bool { return one == w })
	if s.who == w {
		s.leave()
	}
}

// SetInput says whether viewers that may act do so from now on.
func (s *Service) SetInput(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.input = on
	if s.now == nil {
		return
	}
	s.now.allowed.Store(on && s.who.acts)
	if !on { // a server that takes nothing must not hold up whoever changes the mode
		s.wg.Go(s.now.letGo)
	}
}

// Close ends all viewers and their servers, and waits for them.
func (s *Service) Close() {
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	s.wg.Wait()
}

// meet shakes hands with whoever has connected.
func (s *Service) meet(conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(s.ctx, func() { conn.Close() })()
	ctx, err := s.handshake(conn)
	<-s.guests
	switch {
	case err == nil:
		s.show(ctx, conn)
	case errors.Is(err, errRefused):
		s.cfg.Refused("a viewer was " + err.Error())
	} // else it went, or is no viewer
}

// handshake finds out whether a viewer may watch, and gives it the one place for that,
// until what it gives is done.
func (s *Service) handshake(conn net.Conn) (context.Context, error) {
	if !s.cfg.Mine(conn) {
		return nil, fmt.Errorf("%w: it is not known to be yours", errRefused)
	}
	_ = conn.SetDeadline(time.Now().Add(versionTime))
	if err := greet(conn); err != nil {
		return nil, err
	}
	if why := s.full(); why != "" {
		return nil, because(turnAway(conn, why), why)
	}
	_ = conn.SetDeadline(time.Now().Add(typeTime))
	var watches []*Watch
	i, err := challenge(conn, func() (out []string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.tired() {
			return nil
		}
		watches = append(watches, s.watches...)
		for _, w := range watches {
			out = append(out, w.password)
		}
		return out
	})
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(versionTime))
	if i < 0 {
		s.mistaken()
		return nil, because(failed(conn, "that is not the password of this display"), "the password was wrong")
	}
	ctx, why := s.enter(watches[i])
	if why != "" {
		return nil, because(failed(conn, why), why)
	}
	return ctx, nil
}

// because adds to a refusal what it was.
func because(err error, why string) error { return fmt.Errorf("%w: %s", err, why) }

// taken is for whoever comes second.
const taken = "somebody watches this display already"

// full says why nobody more may come now, "" when somebody may.
func (s *Service) full() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.who != nil:
		return taken
	case s.tired():
		return "too many wrong passwords; try again in a minute"
	}
	return ""
}

// tired says that too many passwords were wrong lately; mu is held. One is forgotten
// each [wrongEach].
func (s *Service) tired() bool {
	now := time.Now()
	s.wrong = max(0, s.wrong-float64(now.Sub(s.since))/float64(wrongEach))
	s.since = now
	return s.wrong > maxWrong-1
}

func (s *Service) mistaken() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tired()
	s.wrong = min(s.wrong+1, maxWrong)
}

// enter takes the one place, or says why it is not there.
func (s *Service) enter(w *Watch) (ctx context.Context, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.who != nil {
		return nil, taken
	}
	if !slices.Contains(s.watches, w) {
		return nil, "this watch has ended"
	}
	s.who = w
	ctx, s.leave = context.WithCancel(s.ctx)
	return ctx, ""
}

// left gives the place back.
func (s *Service) left() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave()
	s.who, s.now = nil, nil
}

// show has a server started for a viewer, and copies until one of them goes.
func (s *Service) show(ctx context.Context, conn net.Conn) {
	defer s.left()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	_ = conn.SetDeadline(time.Now().Add(serverTime + versionTime))
	began := time.Now()
	server, err := s.serverFor(ctx)
	if err != nil {
		_ = failed(conn, "the display cannot be shown: "+err.Error())
		s.cfg.Tell("the display cannot be shown: " + err.Error())
		return
	}
	defer server.Close()
	if _, err := conn.Write(make([]byte, 4)); err != nil { // it may come in
		return
	}
	_ = conn.SetDeadline(time.Time{})
	r := &relay{viewer: conn, server: server}
	s.mu.Lock()
	s.now = r
	r.allowed.Store(s.input && s.who.acts)
	s.mu.Unlock()
	s.cfg.Tell(fmt.Sprintf("a viewer watches, after %d ms", time.Since(began).Milliseconds()))
	if err := r.run(); err != nil {
		s.cfg.Tell("the viewer was disconnected: " + err.Error())
		return
	}
	s.cfg.Tell(fmt.Sprintf("the viewer has gone, after %s", time.Since(began).Round(time.Second)))
}

// serverFor starts a server and enters it.
func (s *Service) serverFor(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, serverTime)
	defer cancel()
	server, err := s.cfg.Dial(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	if err = enter(server); !stop() {
		err = errors.Join(err, ctx.Err())
	}
	if err != nil {
		server.Close()
		return nil, err
	}
	return server, nil
}
