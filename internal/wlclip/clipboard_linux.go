package wlclip

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of what other programs may give.
const (
	// MaxData is the most bytes that are read or set in one format.
	MaxData = 64 << 20
	// maxTypes formats are listed, each with a name of so many bytes.
	maxTypes = 200
	maxName  = 200
	// maxOffers are known at a time; a compositor tells of two.
	maxOffers = 100
	// quiet is how long who copied may say nothing, maxReading how long it may take.
	quiet      = 5 * time.Second
	maxReading = time.Minute
	// maxPastes are served at the same time.
	maxPastes = 16
)

// ErrEmpty is what reading gives where nothing was copied.
var ErrEmpty = errors.New("the clipboard is empty")

// ErrNoExtension says that the compositor lets no program at the clipboard that has no
// window with the keyboard.
var ErrNoExtension = errors.New("the compositor has no data-control extension (wlr or ext)")

// displayID is the object that is there from the beginning. The client gives the others
// their numbers, one after the other: the compositor takes no gaps.
const displayID = 1

// firstServerID is where the compositor's own objects begin: offers.
const firstServerID = 0xff000000

// managers are the names of the extension.
var managers = []string{"ext_data_control_manager_v1", "zwlr_data_control_manager_v1"}

// Clipboard is the clipboard of a seat. It is used by one goroutine at a time.
type Clipboard struct {
	c      *conn
	offers map[uint32][]string
	now    uint32 // the offer that is the clipboard; 0 for nothing

	last                                    uint32 // id given
	registry, manager, device, source, sync uint32 // objects; 0 for none
	synced                                  bool

	globals map[string]uint32
	data    map[string][]byte // ours, while it is
	lost    bool
	pastes  chan struct{}
	wg      sync.WaitGroup
}

// Open connects to the compositor at a socket, and learns what is on its clipboard.
func Open(ctx context.Context, socket string) (*Clipboard, error) {
	c, err := dial(ctx, socket)
	if err != nil {
		return nil, err
	}
	b := &Clipboard{c: c, offers: make(map[uint32][]string), globals: make(map[string]uint32), last: displayID, pastes: make(chan struct{}, maxPastes)}
	if err := b.begin(ctx); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// Close ends the connection, and with it what was set.
func (b *Clipboard) Close() {
	b.c.close()
	b.wg.Wait()
}

func (b *Clipboard) begin(ctx context.Context) error {
	const getRegistry, bind, getDataDevice = 1, 0, 1
	b.registry = b.id()
	if err := b.c.send(request(displayID, getRegistry, b.registry)); err != nil {
		return err
	}
	if err := b.roundTrip(ctx); err != nil {
		return err
	}
	number, ok := b.globals["wl_seat"]
	if !ok {
		return errors.New("the compositor has no seat, and so no clipboard")
	}
	seat := b.id()
	if err := b.c.send(request(b.registry, bind, number, "wl_seat", uint32(1), seat)); err != nil {
		return err
	}
	for _, name := range managers {
		number, ok := b.globals[name]
		if !ok {
			continue
		}
		b.manager, b.device = b.id(), b.id()
		for _, r := range [][]byte{
			request(b.registry, bind, number, name, uint32(1), b.manager),
			request(b.manager, getDataDevice, b.device, seat),
		} {
			if err := b.c.send(r); err != nil {
				return err
			}
		}
		return b.roundTrip(ctx)
	}
	return ErrNoExtension
}

func (b *Clipboard) id() uint32 {
	b.last++
	return b.last
}

// roundTrip waits until the compositor has answered all that was said.
func (b *Clipboard) roundTrip(ctx context.Context) error {
	const sync = 0
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	b.synced = false
	b.sync = b.id()
	if err := b.c.send(request(displayID, sync, b.sync)); err != nil {
		return err
	}
	return b.until(ctx, func() bool { return b.synced })
}

// until reads events until something is so.
func (b *Clipboard) until(ctx context.Context, so func() bool) error {
	_ = b.c.c.SetReadDeadline(time.Time{})
	defer context.AfterFunc(ctx, func() { _ = b.c.c.SetReadDeadline(time.Unix(1, 0)) })()
	for !so() {
		m, err := b.c.event()
		if ctx.Err() != nil {
			return fmt.Errorf("the compositor does not answer: %w", ctx.Err())
		}
		if err == nil {
			err = b.heard(m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// heard takes one event in.
func (b *Clipboard) heard(m message) error {
	a := &args{b: m.args}
	_, isOffer := b.offers[m.object]
	if m.object == 0 {
		return errors.New("the compositor sent an event of no object")
	}
	switch {
	case m.object == displayID && m.opcode == 0: // error
		object, code, text := a.uint(), a.uint(), a.text()
		return fmt.Errorf("the compositor refuses: %.200q (object %d, code %d)", text, object, code)
	case m.object == b.registry && m.opcode == 0: // global
		number, name := a.uint(), a.text()
		if _, known := b.globals[name]; !known && (name == "wl_seat" || slices.Contains(managers, name)) {
			b.globals[name] = number // the first seat
		}
	case m.object == b.sync:
		b.synced = true
	case m.object == b.device && m.opcode == 0: // data_offer
		if id := a.uint(); id >= firstServerID && len(b.offers) < maxOffers {
			b.offers[id] = []string{}
		} else if a.err == nil {
			return fmt.Errorf("the compositor tells of %d offers at once, or gives one the id %d", len(b.offers), id)
		}
	case m.object == b.device && m.opcode == 1: // selection
		b.change(a.uint())
	case m.object == b.device && m.opcode == 2: // finished
		return errors.New("the seat is gone")
	case isOffer && m.opcode == 0: // offer
		if name := a.text(); len(b.offers[m.object]) < maxTypes && len(name) <= maxName && name != "" {
			b.offers[m.object] = append(b.offers[m.object], name)
		}
	case m.object == b.source && m.opcode == 0: // send
		return b.paste(a)
	case m.object == b.source && m.opcode == 1: // cancelled
		b.lost = true
	}
	return a.err
}

// change takes another offer for the clipboard, and lets go of the others.
func (b *Clipboard) change(to uint32) {
	const destroy = 1
	for id := range b.offers {
		if id != to {
			_ = b.c.send(request(id, destroy))
			delete(b.offers, id)
		}
	}
	b.now = to
}

// Types lists the formats of what was copied, as who copied names them.
func (b *Clipboard) Types(ctx context.Context) ([]string, error) {
	if err := b.roundTrip(ctx); err != nil {
		return nil, err
	}
	if b.now == 0 {
		return nil, ErrEmpty
	}
	return slices.Clone(b.offers[b.now]), nil
}

// Data reads what was copied in one of the formats that are offered.
func (b *Clipboard) Data(ctx context.Context, kind string) ([]byte, error) {
	offered, err := b.Types(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(offered, kind) {
		return nil, fmt.Errorf("the clipboard is not offered as %.60q but as %.300q", kind, offered)
	}
	const receive = 0
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	err = b.c.send(request(b.now, receive, kind), w)
	w.Close()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, maxReading)
	defer cancel()
	data, err := readPatiently(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("reading the clipboard as %.60q: %w", kind, err)
	}
	return data, nil
}

// readPatiently reads to the end, from one that has to go on saying something.
func readPatiently(ctx context.Context, r *os.File) ([]byte, error) {
	defer context.AfterFunc(ctx, func() { r.Close() })()
	var all []byte
	buf := make([]byte, 64<<10)
	for {
		_ = r.SetReadDeadline(time.Now().Add(quiet))
		n, err := r.Read(buf)
		all = append(all, buf[:n]...)
		switch {
		case err == io.EOF:
			return all, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, fmt.Errorf("the program that copied it has said nothing for %v", quiet)
		case err != nil:
			return nil, err
		case len(all) > MaxData:
			return nil, fmt.Errorf("more than %d bytes", MaxData)
		}
	}
}

// Set puts data on the clipboard, by format. It stays there while [Clipboard.Serve]
// runs, until somebody copies something else.
func (b *Clipboard) Set(ctx context.Context, data map[string][]byte) error {
	if len(data) == 0 || len(data) > maxTypes {
		return fmt.Errorf("%d formats: want 1 to %d", len(data), maxTypes)
	}
	const createDataSource, offer, setSelection = 0, 0, 0
	if b.data != nil {
		return errors.New("it was set before: each connection sets it once")
	}
	b.source = b.id()
	if err := b.c.send(request(b.manager, createDataSource, b.source)); err != nil {
		return err
	}
	for kind, bytes := range data {
		if kind == "" || len(kind) > maxName || len(bytes) > MaxData {
			return fmt.Errorf("%d bytes as %.60q: at most %d, and a name of 1 to %d bytes", len(bytes), kind, MaxData, maxName)
		}
		if err := b.c.send(request(b.source, offer, kind)); err != nil {
			return err
		}
	}
	b.data = data
	if err := b.c.send(request(b.device, setSelection, b.source)); err != nil {
		return err
	}
	return b.roundTrip(ctx)
}

// Serve hands out what was set until somebody copies something else, the compositor
// ends, or ctx does.
func (b *Clipboard) Serve(ctx context.Context) error {
	return b.until(ctx, func() bool { return b.lost })
}

// paste writes what was set to whoever asks for it.
func (b *Clipboard) paste(a *args) error {
	kind := a.text()
	fd, err := b.c.file()
	if err := errors.Join(a.err, err); err != nil {
		return err
	}
	_ = unix.SetNonblock(fd, true)
	f := os.NewFile(uintptr(fd), "paste")
	select {
	case b.pastes <- struct{}{}:
	default:
		return f.Close()
	}
	data := b.data[kind]
	b.wg.Go(func() {
		defer func() { <-b.pastes }()
		defer f.Close()
		_ = f.SetWriteDeadline(time.Now().Add(maxReading))
		_, _ = f.Write(data)
	})
	return nil
}
