package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The wire form is length-prefixed fields in the order of the structs. JSON
// cannot carry paths that are not UTF-8, and its reflection would cost the
// stage a tenth of its start.

// maxWire bounds what the stage accepts: 10,000 rules with long paths are
// under 100 MiB, and a length field can never ask for more than is there.
const maxWire = 256 << 20

var errShortPlan = errors.New("plan ends in the middle of a field")

// Encode gives the plan's wire form.
func (p *Plan) Encode() []byte {
	e := &encoder{buf: make([]byte, 0, 16<<10)}
	e.num(PlanVersion)
	e.str(string(p.Engine))
	e.num(uint64(p.UID))
	e.num(uint64(p.GID))
	e.bool(p.NewNet)
	e.bool(p.Loopback)
	e.bool(p.Pool)
	e.num(uint64(len(p.Listeners)))
	for _, l := range p.Listeners {
		e.str(l.Network)
		e.str(l.Address)
		e.bool(l.Optional)
	}
	e.num(uint64(len(p.Mounts)))
	for i := range p.Mounts {
		e.mount(&p.Mounts[i])
	}
	e.num(uint64(len(p.UserLimits)))
	for _, l := range p.UserLimits {
		e.str(l.Name)
		e.num(l.Value)
	}
	e.strs(p.Roots)
	e.strs(p.NoExec)
	e.str(p.Private)
	e.num(uint64(len(p.Grants)))
	for _, g := range p.Grants {
		e.grant(g)
	}
	e.bool(p.Landlock.Files)
	e.bool(p.Landlock.Scopes)
	e.strs(p.Landlock.Write)
	e.bool(p.Landlock.Limited)
	e.strs(p.Landlock.Execute)
	e.str(string(p.Seccomp))
	e.num(p.NProc)
	e.num(p.HighestPID)
	e.command(&p.Command)
	return e.buf
}

// DecodePlan reads the wire form. A plan that is short, long or of another
// version is an error and gives no plan.
func DecodePlan(b []byte) (*Plan, error) {
	if len(b) > maxWire {
		return nil, fmt.Errorf("plan of %d bytes is over the limit of %d", len(b), maxWire)
	}
	d := &decoder{buf: b}
	if v := d.num(); v != PlanVersion {
		return nil, fmt.Errorf("plan has version %d, this binary speaks %d; was carrel replaced while it ran?", v, PlanVersion)
	}
	p := &Plan{Engine: Engine(d.str()), UID: uint32(d.num()), GID: uint32(d.num()), NewNet: d.bool(), Loopback: d.bool(), Pool: d.bool()}
	for n := d.count(); n > 0; n-- {
		p.Listeners = append(p.Listeners, Listener{Network: d.str(), Address: d.str(), Optional: d.bool()})
	}
	for n := d.count(); n > 0; n-- {
		p.Mounts = append(p.Mounts, d.mount())
	}
	for n := d.count(); n > 0; n-- {
		p.UserLimits = append(p.UserLimits, UserLimit{Name: d.str(), Value: d.num()})
	}
	p.Roots = d.strs()
	p.NoExec = d.strs()
	p.Private = d.str()
	for n := d.count(); n > 0; n-- {
		p.Grants = append(p.Grants, d.grant())
	}
	p.Landlock = Landlock{Files: d.bool(), Scopes: d.bool(), Write: d.strs(), Limited: d.bool(), Execute: d.strs()}
	p.Seccomp = []byte(d.str())
	p.NProc = d.num()
	p.HighestPID = d.num()
	p.Command = d.command()
	if d.err == nil && len(d.buf) != 0 {
		d.err = fmt.Errorf("plan has %d bytes too many", len(d.buf))
	}
	if d.err != nil {
		return nil, d.err
	}
	return p, nil
}

func (e *encoder) grant(g Grant) {
	e.str(g.Path)
	e.bool(g.Write)
	e.bool(g.Device)
	e.bool(g.Data)
	e.bool(g.Optional)
	e.num(g.Dev)
	e.num(g.Ino)
}

func (d *decoder) grant() Grant {
	return Grant{Path: d.str(), Write: d.bool(), Device: d.bool(), Data: d.bool(), Optional: d.bool(), Dev: d.num(), Ino: d.num()}
}

// Encode writes one more command for a running stage; [DecodeCommand] reads it there.
func (c *Command) Encode() []byte {
	e := &encoder{}
	e.num(PlanVersion)
	e.command(c)
	return e.buf
}

// DecodeCommand reads what [Command.Encode] wrote.
func DecodeCommand(b []byte) (Command, error) {
	d := &decoder{buf: b}
	if v := d.num(); v != PlanVersion {
		return Command{}, fmt.Errorf("command has version %d, this binary speaks %d", v, PlanVersion)
	}
	c := d.command()
	if d.err == nil && len(d.buf) != 0 {
		d.err = fmt.Errorf("command has %d bytes too many", len(d.buf))
	}
	return c, d.err
}

type encoder struct{ buf []byte }

func (e *encoder) num(v uint64) { e.buf = binary.AppendUvarint(e.buf, v) }

func (e *encoder) bool(v bool) {
	if v {
		e.num(1)
		return
	}
	e.num(0)
}

func (e *encoder) str(s string) {
	e.num(uint64(len(s)))
	e.buf = append(e.buf, s...)
}

func (e *encoder) strs(l []string) {
	e.num(uint64(len(l)))
	for _, s := range l {
		e.str(s)
	}
}

func (e *encoder) mount(m *Mount) {
	e.num(uint64(m.Kind))
	e.str(m.Target)
	e.str(m.Source)
	e.str(m.Lower)
	e.str(m.Upper)
	e.str(m.Work)
	e.str(m.Spare)
	for _, b := range []bool{m.ReadOnly, m.Optional, m.Dir, m.Bare, m.Kept} {
		e.bool(b)
	}
	e.num(m.Dev)
	e.num(m.Ino)
	e.num(uint64(m.Perm))
	e.num(m.Copies)
	e.str(string(m.Data))
}

func (e *encoder) command(c *Command) {
	e.strs(c.Argv)
	e.strs(c.Env)
	e.str(c.Dir)
	e.str(c.Path)
	e.bool(c.Session)
	e.bool(c.Terminal)
	e.num(c.Label)
}

// decoder keeps its first error; after it every read gives a zero value.
type decoder struct {
	buf []byte
	err error
}

func (d *decoder) num() uint64 {
	v, n := binary.Uvarint(d.buf)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.buf = d.buf[n:]
	return v
}

func (d *decoder) bool() bool { return d.num() != 0 }

// count reads a number of elements; each takes at least a byte, which bounds it.
func (d *decoder) count() uint64 {
	n := d.num()
	if n > uint64(len(d.buf)) {
		d.fail()
		return 0
	}
	return n
}

func (d *decoder) str() string {
	n := d.count()
	if d.err != nil {
		return ""
	}
	s := string(d.buf[:n])
	d.buf = d.buf[n:]
	return s
}

func (d *decoder) strs() []string {
	var l []string
	for n := d.count(); n > 0 && d.err == nil; n-- {
		l = append(l, d.str())
	}
	return l
}

func (d *decoder) mount() Mount {
	m := Mount{Kind: MountKind(d.num()), Target: d.str(), Source: d.str(), Lower: d.str(), Upper: d.str(), Work: d.str(), Spare: d.str()}
	m.ReadOnly, m.Optional, m.Dir, m.Bare, m.Kept = d.bool(), d.bool(), d.bool(), d.bool(), d.bool()
	m.Dev, m.Ino = d.num(), d.num()
	m.Perm = uint32(d.num())
	m.Copies = d.num()
	m.Data = []byte(d.str())
	return m
}

func (d *decoder) command() Command {
	return Command{Argv: d.strs(), Env: d.strs(), Dir: d.str(), Path: d.str(), Session: d.bool(), Terminal: d.bool(), Label: d.num()}
}

func (d *decoder) fail() {
	if d.err == nil {
		d.err = errShortPlan
	}
	d.buf = nil
}
