package guest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"carrel/internal/sandbox"
	"carrel/internal/streams"

	"golang.org/x/sys/unix"
)

// Bounds on what a machine keeps waiting.
const (
	startTime = 30 * time.Second // until a command has started
	askTime   = 3 * time.Second  // until it says how many processes there are
	maxQueue  = 1024             // messages that it does not read
	stopGap   = 50 * time.Millisecond
)

// Host is the supervisor's side: it speaks to walls as a stage does.
type Host struct {
	near    *os.File               // the walls'
	far     *sandbox.ControlSocket // ours
	items   chan item
	gone    chan struct{} // closed when the stream has ended
	once    sync.Once
	streams uint64 // of the one that obeys

	mu       sync.Mutex
	commands map[uint64]*command
	flushes  map[uint64]*time.Timer
	asked    map[uint64]chan Counts
	question uint64
	stopped  time.Time // when a stop was told last
}

// command is one that was asked for and has not ended.
type command struct {
	label   uint64
	started bool
	late    *time.Timer
}

// item is a record that waits to be sent, with the streams that it needs.
type item struct {
	record  Record
	carries []carried
}

// New makes a side that nothing is connected to.
func New() (*Host, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("making the control socket: %w", err)
	}
	far := sandbox.NewControlSocket(os.NewFile(uintptr(pair[1]), "control of the machine"))
	return &Host{
		near: os.NewFile(uintptr(pair[0]), "control"), far: far, items: make(chan item, maxQueue), gone: make(chan struct{}),
		commands: make(map[uint64]*command), flushes: make(map[uint64]*time.Timer), asked: make(map[uint64]chan Counts),
	}, nil
}

// Control is the socket that walls are made of.
func (h *Host) Control() *os.File { return h.near }

// Abandon lets go of a side that no walls are made of.
func (h *Host) Abandon() {
	h.end()
	h.near.Close()
	h.far.Close()
}

func (h *Host) over() bool {
	select {
	case <-h.gone:
		return true
	default:
		return false
	}
}

// end tells the walls that all is gone.
func (h *Host) end() {
	h.once.Do(func() {
		close(h.gone)
		h.far.Shutdown()
	})
}

// Serve speaks to the agent over a stream of bytes, until that ends.
func (h *Host) Serve(in io.Reader, out io.Writer) error {
	conn, fromGuest, toGuest := Messages()
	mux := streams.New(in, out, true, nil)
	var busy sync.WaitGroup
	served := make(chan error, 1)
	busy.Go(func() { served <- mux.Serve() })
	err := mux.Carry(conn, Control)
	if err == nil {
		busy.Go(func() { h.send(mux, toGuest) })
		busy.Go(func() {
			h.hear(fromGuest)
			h.end()
		})
		go func() { // ends with the walls, whose end of the socket it reads
			h.obey()
			h.far.Close()
		}()
		err = <-served
	}
	h.end()
	conn.Close()
	busy.Wait()
	return err
}

// queue has something sent. A machine that does not read it is one that has ended.
func (h *Host) queue(i item) {
	select {
	case h.items <- i:
	default:
		i.drop()
		h.end()
	}
}

func (i *item) drop() {
	for _, c := range i.carries {
		if c.conn != nil {
			c.conn.Close()
		}
	}
}

// send sends what is queued.
func (h *Host) send(mux *streams.Mux, to io.Writer) {
	for {
		select {
		case <-h.gone:
			for {
				select {
				case i := <-h.items:
					i.drop()
				default:
					return
				}
			}
		case i := <-h.items:
			if err := h.sendOne(mux, to, i); err != nil {
				h.say(sandbox.Message{Kind: sandbox.MsgNoStart, ID: i.record.Message.ID, Code: int(unix.EAGAIN), Text: err.Error()})
			}
		}
	}
}

func (h *Host) sendOne(mux *streams.Mux, to io.Writer, i item) error {
	for n, c := range i.carries {
		if c.conn == nil {
			continue
		}
		if err := mux.Carry(c.conn, fmt.Sprintf("%c%d", c.what.Kind, c.what.Stream)); err != nil {
			rest := item{carries: i.carries[n+1:]}
			rest.drop()
			return err
		}
		if c.size != nil {
			now, _ := c.size()
			size := resized(c.what.Stream, now)
			if err := size.Write(to); err != nil {
				return err
			}
			go h.follow(c.what.Stream, now, c.size)
		}
	}
	return i.record.Write(to)
}

func resized(stream uint64, size unix.Winsize) Record {
	return Record{Message: sandbox.Message{Kind: MsgResize, ID: stream, Code: int(size.Col)<<16 | int(size.Row)}}
}

// say tells the walls something, once for each start and end of a command.
func (h *Host) say(m sandbox.Message, fds ...int) {
	if !h.expected(&m) {
		return
	}
	_ = h.far.Tell(m, fds...) // of walls that are gone: nothing waits for it
}

// expected says whether a message answers something that is open still, and closes that.
func (h *Host) expected(m *sandbox.Message) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.commands[m.ID]
	switch m.Kind {
	case sandbox.MsgStarted:
		if c == nil || c.started {
			return false
		}
		c.started = true
		c.late.Stop()
	case sandbox.MsgNoStart:
		if c == nil || c.started {
			return false
		}
		c.late.Stop()
		delete(h.commands, m.ID)
	case sandbox.MsgExited:
		if c == nil || !c.started {
			return false
		}
		delete(h.commands, m.ID)
		m.Code, m.Signal = m.Code&0xff, m.Signal&0x7f
	case sandbox.MsgStopped:
		if c == nil || time.Since(h.stopped) < stopGap {
			return false
		}
		h.stopped = time.Now()
	case sandbox.MsgBound:
		late := h.flushes[m.ID]
		if late == nil {
			return false
		}
		late.Stop()
		delete(h.flushes, m.ID)
	}
	return true
}

// hear takes what the machine says.
func (h *Host) hear(from io.Reader) {
	for {
		r, err := read(from, maxFromGuest)
		if err != nil {
			return
		}
		m := r.Message
		switch m.Kind {
		case sandbox.MsgStarted, sandbox.MsgNoStart, sandbox.MsgExited, sandbox.MsgStopped, sandbox.MsgBound:
			h.say(sandbox.Message{Kind: m.Kind, ID: m.ID, Code: m.Code, Signal: m.Signal, Text: m.Text, Path: m.Path})
		case MsgCount:
			h.mu.Lock()
			if c := h.asked[m.ID]; c != nil {
				c <- decodeCounts(r.Body)
				delete(h.asked, m.ID)
			}
			h.mu.Unlock()
		}
	}
}

// obey does what the walls ask, until they are gone. It never waits for the machine.
func (h *Host) obey() {
	for {
		m, fds, err := h.far.Receive()
		if err != nil {
			return
		}
		h.do(m, fds)
		for _, fd := range fds {
			unix.Close(fd)
		}
	}
}

func (h *Host) do(m sandbox.Message, fds []int) {
	switch m.Kind {
	case sandbox.MsgPlan:
		h.plan(fds)
	case sandbox.MsgExec:
		var body []byte
		var err error
		if len(fds) == 4 {
			body, err = readAll(fds[0])
		} else {
			err = unix.EBADF
		}
		h.exec(m.ID, body, err, fds)
	case sandbox.MsgSignal:
		h.queue(item{record: Record{Message: m}})
		if m.Signal == int(unix.SIGKILL) {
			time.AfterFunc(killTime, func() { h.say(sandbox.Message{Kind: sandbox.MsgExited, ID: m.ID, Signal: m.Signal}) })
		}
	case sandbox.MsgFlush:
		late := func() { h.say(sandbox.Message{Kind: sandbox.MsgBound, ID: m.ID, Code: int(unix.ETIMEDOUT)}) }
		h.mu.Lock()
		h.flushes[m.ID] = time.AfterFunc(askTime, late)
		h.mu.Unlock()
		h.queue(item{record: Record{Message: m}})
	case sandbox.MsgNewPty:
		near, far, err := sandbox.OpenPty()
		if err != nil {
			h.say(sandbox.Message{Kind: sandbox.MsgPty, ID: m.ID, Code: int(errno(err))})
			return
		}
		h.say(sandbox.Message{Kind: sandbox.MsgPty, ID: m.ID}, near, far)
		unix.Close(near)
		unix.Close(far)
	case sandbox.MsgDial, sandbox.MsgListen:
		h.say(sandbox.Message{Kind: sandbox.MsgDialed, ID: m.ID, Code: int(unix.EOPNOTSUPP)})
	}
}

// plan takes the plan: there are no walls to build, and its command is started.
func (h *Host) plan(fds []int) {
	err := error(unix.EBADF)
	var p *sandbox.Plan
	if len(fds) >= 4 {
		var text []byte
		if text, err = readAll(fds[0]); err == nil {
			p, err = sandbox.DecodePlan(text)
		}
	}
	if err != nil {
		h.say(sandbox.Message{Kind: sandbox.MsgSetup, Text: "reading the plan\x00" + err.Error(), Code: int(errno(err))})
		return
	}
	h.say(sandbox.Message{Kind: sandbox.MsgReady, Code: sandbox.ReadyAlone})
	if len(p.Command.Argv) > 0 {
		h.exec(sandbox.FirstCommand, p.Command.Encode(), nil, fds[:4])
	}
}

// exec has a command started; its descriptors are fds but for the first.
func (h *Host) exec(id uint64, body []byte, err error, fds []int) {
	late := func() {
		h.say(sandbox.Message{Kind: sandbox.MsgNoStart, ID: id, Code: int(unix.ETIMEDOUT), Text: "the machine does not answer"})
		h.queue(item{record: Record{Message: sandbox.Message{Kind: sandbox.MsgSignal, ID: id, Signal: int(unix.SIGKILL)}}})
	}
	c, _ := sandbox.DecodeCommand(body) // the other side tells what is wrong with it
	h.mu.Lock()
	h.commands[id] = &command{label: c.Label, late: time.AfterFunc(startTime, late)}
	h.mu.Unlock()
	i := item{record: Record{Message: sandbox.Message{Kind: sandbox.MsgExec, ID: id}, Body: body}}
	if err == nil {
		i.carries, err = h.carry(fds[1:])
	}
	if err != nil {
		i.drop()
		h.say(sandbox.Message{Kind: sandbox.MsgNoStart, ID: id, Code: int(errno(err)), Text: err.Error()})
		return
	}
	for _, c := range i.carries {
		i.record.Files = append(i.record.Files, c.what)
	}
	h.queue(i)
}

func errno(err error) syscall.Errno {
	var n syscall.Errno
	if !errors.As(err, &n) {
		n = unix.EIO
	}
	return n
}

// readAll reads a memory file of our own from its start.
func readAll(fd int) ([]byte, error) {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(own), "memory")
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(f, 0, st.Size()))
}
