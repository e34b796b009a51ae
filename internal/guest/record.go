package guest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"carrel/internal/sandbox"
	"carrel/internal/streams"
)

// Kinds of messages beside those of the stage, between the supervisor and the agent alone.
const (
	MsgCount  sandbox.MessageKind = 'c' // ID of the question; the answer has pairs of a label and how many processes have it
	MsgLabel  sandbox.MessageKind = 'g' // ID label, 0 for all; Signal
	MsgResize sandbox.MessageKind = 'w' // ID stream of a terminal, Code columns<<16 | rows
)

// Control is what the stream of messages is opened for.
const Control = "control"

// Descriptor is what a command finds at one of its standard descriptors: nothing, or a stream.
type Descriptor struct {
	Kind   byte // see below
	Stream uint64
}

// Kinds of descriptors, as the command sees them. A stream is opened for its kind and number.
const (
	Null     = '0'
	Input    = 'r'
	Output   = 'w'
	Socket   = 's'
	Terminal = 't'
)

// Record is one message, with what goes with it.
type Record struct {
	Message sandbox.Message
	Files   []Descriptor
	Body    []byte // of MsgExec the command, of MsgCount the counts
}

// Bounds of a record, in bytes: a command may have the arguments that a kernel takes.
const (
	maxFromHost  = 8 << 20
	maxFromGuest = 64 << 10
	maxFiles     = 3
)

var errRecord = errors.New("a message of the machine cannot be read")

// Write writes a record.
func (r *Record) Write(w io.Writer) error {
	message := r.Message.Encode()
	buf := make([]byte, 4, 4+len(message)+len(r.Body)+32)
	buf = binary.AppendUvarint(buf, uint64(len(message)))
	buf = append(buf, message...)
	buf = append(buf, byte(len(r.Files)))
	for _, f := range r.Files {
		buf = append(buf, f.Kind)
		buf = binary.AppendUvarint(buf, f.Stream)
	}
	buf = append(buf, r.Body...)
	if len(buf) > maxFromHost {
		return fmt.Errorf("a message of %d bytes, at most %d are carried", len(buf), maxFromHost)
	}
	binary.BigEndian.PutUint32(buf, uint32(len(buf)-4))
	_, err := w.Write(buf)
	return err
}

// Read reads the record that a host has written.
func Read(r io.Reader) (Record, error) { return read(r, maxFromHost) }

func read(in io.Reader, most uint32) (r Record, err error) {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return r, err
	}
	length := binary.BigEndian.Uint32(head[:])
	if length > most {
		return r, fmt.Errorf("%w: it has %d bytes, and %d are allowed", errRecord, length, most)
	}
	buf := make([]byte, length)
	if _, err := io.ReadFull(in, buf); err != nil {
		return r, err
	}
	number := func() (v uint64) {
		v, n := binary.Uvarint(buf)
		if n <= 0 {
			err, n = errRecord, 0
		}
		buf = buf[n:]
		return v
	}
	size := number()
	if err != nil || size > sandbox.MaxMessage || size >= uint64(len(buf)) {
		return r, errRecord
	}
	if r.Message, err = sandbox.DecodeMessage(buf[:size]); err != nil {
		return r, err
	}
	count := buf[size]
	if buf = buf[size+1:]; count > maxFiles {
		return r, errRecord
	}
	for range count {
		if len(buf) == 0 {
			return r, errRecord
		}
		d := Descriptor{Kind: buf[0]}
		buf = buf[1:]
		if d.Stream = number(); err != nil {
			return r, err
		}
		r.Files = append(r.Files, d)
	}
	r.Body = buf
	return r, nil
}

// messages is the stream of records, as a mux carries it.
type messages struct {
	noAddress
	*io.PipeReader
	to *io.PipeWriter
}

// Messages makes the stream of records, and gives what the mux carries and what its owner reads
// and writes. They end when the connection is closed.
func Messages() (conn streams.Conn, in io.Reader, out io.Writer) {
	toMux, write := io.Pipe()
	read, fromMux := io.Pipe()
	return &messages{PipeReader: toMux, to: fromMux}, read, write
}

func (m *messages) Write(b []byte) (int, error) { return m.to.Write(b) }
func (m *messages) CloseWrite() error           { return m.to.Close() }
func (m *messages) Close() error                { return errors.Join(m.PipeReader.Close(), m.to.Close()) }

// noAddress is what a [net.Conn] has beyond bytes, of something that has none of it.
type noAddress struct{}

func (noAddress) LocalAddr() net.Addr              { return nil }
func (noAddress) RemoteAddr() net.Addr             { return nil }
func (noAddress) SetDeadline(time.Time) error      { return errors.ErrUnsupported }
func (noAddress) SetReadDeadline(time.Time) error  { return errors.ErrUnsupported }
func (noAddress) SetWriteDeadline(time.Time) error { return errors.ErrUnsupported }

// Counts are how many processes have a label.
type Counts map[uint64]int

// maxCounts bounds the labels of an answer.
const maxCounts = 2048

// Encode gives the counts as the body of a record.
func (c Counts) Encode() (out []byte) {
	for label, n := range c {
		if len(out) > maxFromGuest/2 {
			break
		}
		out = binary.AppendUvarint(binary.AppendUvarint(out, label), uint64(n))
	}
	return out
}

func decodeCounts(body []byte) Counts {
	c := make(Counts)
	for len(body) > 0 && len(c) < maxCounts {
		label, n := binary.Uvarint(body)
		if n <= 0 {
			break
		}
		body = body[n:]
		count, n := binary.Uvarint(body)
		if n <= 0 || count > 1<<22 {
			break
		}
		body = body[n:]
		c[label] = int(count)
	}
	return c
}
