package gui

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"carrel/internal/api"
	xclient "carrel/internal/desktop"
	"carrel/internal/sandbox"
	"carrel/internal/xfilter"
)

// filterX begins to answer for the socket that programs inside connect to. From the
// start they may act upon each other: the mode that the workspace is in is told as
// soon as there is one.
func (d *Desktop) filterX() {
	refused := &pacer{}
	d.filter = xfilter.New(xfilter.Config{
		Cookie: d.inner,
		Dial: func(ctx context.Context) (net.Conn, []byte, error) {
			var conn net.Conn
			err := d.again(ctx, func() error {
				s, err := d.running(ctx, true)
				if err != nil {
					return err
				}
				select {
				case <-s.furnished:
				case <-s.gone:
				case <-ctx.Done():
				}
				conn, err = s.dial()
				return err
			})
			return conn, d.cookie, err
		},
		App:     sandbox.LabelOf,
		Clients: func(n int) { d.count(func() { d.clients = n }) },
		Lacks: func(c xfilter.Client, name string) {
			if name == "GLX" {
				d.lacksGL.Do(func() {
					d.c.Note("a program asked the virtual display for OpenGL, which it has with display.gl: true in your configuration")
				})
				d.say(api.EventNote, "process %d asked display %s for OpenGL, which it has with display.gl: true; most programs paint without", c.PID, d.Display())
			}
		},
		Refused: func(r xfilter.Refusal) {
			if before, ok := refused.may(); ok {
				d.say(api.EventDisplayRefused, "%s", describeRefusal(r, before))
			}
		},
	})
	d.filter.SetActive(true)
	d.wg.Go(func() { _ = d.filter.Serve(d.ctx, d.x) })
}

// SetMode follows the mode of the workspace: only an active one lets programs
// inside press keys, and listen to what others get.
func (d *Desktop) SetMode(mode string) {
	if d == nil {
		return
	}
	d.filter.SetActive(mode == api.ControlActive)
	d.stopActing()
	if err := d.rules.follow(d.ctx, mode == api.ControlActive); err != nil && d.ctx.Err() == nil {
		go d.say(api.EventNote, "the accessibility bus does not follow control %s yet: %v", mode, err)
	}
	d.viewing.setInput(false)
	if mode != api.ControlActive {
		d.letGoOfInput()
	}
	d.viewing.setInput(mode == api.ControlTakeover)
}

// letGoTime is how long a change of the mode waits for the server.
const letGoTime = 2 * time.Second

// letGoOfInput releases what is held on the display, by a request or by a program:
// whoever takes over would drag with the button and type with the key.
func (d *Desktop) letGoOfInput() {
	s := d.current()
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(d.ctx, letGoTime)
	defer cancel()
	c, err := xclient.Open(ctx, func(context.Context) (net.Conn, error) { return s.dial() }, d.cookie)
	if err == nil {
		err = c.LetGo(ctx)
		c.Close()
	}
	if err != nil && d.ctx.Err() == nil {
		d.say(api.EventNote, "keys and buttons may be held down still: %v", err)
	}
}

func describeRefusal(r xfilter.Refusal, before int) string {
	text := fmt.Sprintf("process %d: %s", r.Client.PID, r.What)
	if r.Times > 1 {
		text += fmt.Sprintf(", %d times", r.Times)
	}
	if r.Ended {
		text += "; it was disconnected"
	}
	if before > 0 {
		text += fmt.Sprintf(" (and %d others before)", before)
	}
	return text
}

// refusedEvery is how often a refusal of the display is told at most.
const refusedEvery = 250 * time.Millisecond

// pacer keeps what programs cause from being told too often.
type pacer struct {
	mu      sync.Mutex
	last    time.Time
	skipped int
}

// may says whether it is time, and how many were skipped since.
func (p *pacer) may() (skipped int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.last) < refusedEvery {
		p.skipped++
		return 0, false
	}
	skipped, p.skipped, p.last = p.skipped, 0, time.Now()
	return skipped, true
}

// labelOf gives the label of the app that made a window by its connection, 0 for none.
func (d *Desktop) labelOf(id xclient.ID) uint64 {
	c, _ := d.filter.Owner(uint32(id))
	return c.App
}
