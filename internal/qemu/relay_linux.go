package qemu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"carrel/internal/capped"
	"carrel/internal/guestinit"
)

// Relay is a part of carrel-relay that runs in a machine, at a port.
type Relay struct {
	m      *Machine
	port   string
	conn   *net.UnixConn
	served chan error
	ended  chan struct{}
	ready  chan struct{}
	once   sync.Once
	err    error

	mu            sync.Mutex
	told          *capped.Buffer
	readied, over bool
}

// Mount mounts what serve serves, where [Machine.Build] takes it from.
func (m *Machine) Mount(ctx context.Context, serve func(in io.Reader, out io.Writer) error) (*Relay, error) {
	return m.Relay(ctx, PortFiles, []string{"-mount", guestinit.FilesDir}, serve)
}

// Relay starts a part of carrel-relay at a port, and returns when it says that it is ready. serve
// answers what comes over the port.
func (m *Machine) Relay(ctx context.Context, port string, args []string, serve func(in io.Reader, out io.Writer) error) (*Relay, error) {
	r := &Relay{
		m: m, port: port, conn: m.conns[port], served: make(chan error, 1), ended: make(chan struct{}), ready: make(chan struct{}),
		told: &capped.Buffer{Most: maxTold},
	}
	m.mu.Lock()
	m.relays[port] = r
	m.mu.Unlock()
	go func() { r.served <- serve(r.conn, r.conn) }()
	err := m.tell(guestinit.Order{Start: &guestinit.Start{Port: port, Args: args}})
	if err == nil {
		err = r.awaited(ctx)
	}
	if err != nil {
		err = errors.Join(err, r.Close())
		r.mu.Lock()
		defer r.mu.Unlock()
		if said := strings.TrimSpace(r.told.Text()); said != "" {
			err = fmt.Errorf("%w: %.500s", err, said)
		}
		return nil, m.explain(err)
	}
	return r, nil
}

func (r *Relay) awaited(ctx context.Context) error {
	late := time.NewTimer(orderTime)
	defer late.Stop()
	select {
	case <-r.ready:
		return nil
	case <-r.ended:
		return fmt.Errorf("what serves the port %s in the machine has ended", r.port)
	case <-r.m.gone:
		return errors.New("QEMU has ended")
	case <-late.C:
		return errors.New("the machine does not answer")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// relay is the one at a port, nil where there is none.
func (m *Machine) relay(port string) *Relay {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.relays[port]
}

// say takes what a relay says on its standard error.
func (r *Relay) say(text string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = r.told.Write([]byte(text))
	if !r.readied && strings.HasPrefix(r.told.Text(), "ready\n") {
		r.readied = true
		close(r.ready)
	}
}

func (r *Relay) end() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.over = true
		close(r.ended)
	}
}

// Close ends the relay. One that does not end is ended with the machine.
func (r *Relay) Close() error {
	r.once.Do(func() {
		// The end of its stream is not enough: without a reader at this side it waits to write.
		_ = r.m.tell(guestinit.Order{Stop: r.port}) // of a machine that is gone: so is the relay
		late := time.NewTimer(endGrace)
		defer late.Stop()
		select {
		case <-r.ended:
		case <-r.m.gone:
		case <-late.C:
			r.err = fmt.Errorf("what serves the port %s in the machine does not end", r.port)
		}
		r.conn.Close()
		if err := <-r.served; !errors.Is(err, net.ErrClosed) {
			r.err = errors.Join(r.err, err)
		}
	})
	return r.err
}
