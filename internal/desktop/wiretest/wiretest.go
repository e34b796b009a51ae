// Package wiretest is an X server for tests that says what it was told, whatever it is
// asked, and the messages to tell it: the answer to the greeting, replies, errors and
// events, little-endian as clients here ask for them.
//
// No window and no screen is behind it. What a real server does is tested with Xvfb.
package wiretest

import (
	"encoding/binary"
	"io"
	"net"
)

// Server is a connection to a server that says what stands in a reader.
type Server struct {
	net.Conn
	Says io.Reader
}

// Read gives what the server says.
func (s Server) Read(p []byte) (int, error) { return s.Says.Read(p) }

// Write takes anything.
func (s Server) Write(p []byte) (int, error) { return len(p), nil }

// Close does nothing.
func (s Server) Close() error { return nil }

// Setup is the answer to a greeting that was accepted, with no screen.
func Setup() []byte {
	b := make([]byte, 40)
	b[0] = 1
	binary.LittleEndian.PutUint16(b[2:], 11)
	binary.LittleEndian.PutUint16(b[6:], 8)
	return b
}

// Message is a message of a kind: 0 for an error, 1 for a reply, else an event. Length is
// what it says of the bytes that follow its head, in words.
func Message(kind byte, length uint32, more ...byte) []byte {
	b := make([]byte, 32)
	b[0] = kind
	binary.LittleEndian.PutUint32(b[4:], length)
	return append(b, more...)
}

// Answer makes a message the answer to the request of a number.
func Answer(b []byte, request uint16) []byte {
	binary.LittleEndian.PutUint16(b[2:], request)
	return b
}
