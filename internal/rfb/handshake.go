package rfb

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// Of the handshake (RFC 6143, 7.1).
const (
	version      = "RFB 003.008\n"
	securityNone = 1
	securityVNC  = 2
	maxReason    = 4 << 10 // of what a server says, in bytes
)

// errRefused is for a viewer that was told why it may not come in.
var errRefused = errors.New("turned away")

// greet exchanges versions with a viewer. One that is too old is told so.
func greet(conn io.ReadWriter) error {
	if _, err := io.WriteString(conn, version); err != nil {
		return err
	}
	var got [len(version)]byte
	if _, err := io.ReadFull(conn, got[:]); err != nil {
		return err
	}
	switch minor := string(got[8:11]); {
	case !bytes.HasPrefix(got[:], []byte("RFB 003.")) || got[11] != '\n':
		return fmt.Errorf("%q is no version of the protocol", got)
	case minor < "008":
		const why = "this viewer is too old: it takes version 3.8 of the protocol"
		if minor < "007" { // there the server chose, in four bytes, and 0 was none
			_, err := conn.Write(append(make([]byte, 4), reasoned(why)...))
			return errors.Join(errRefused, err)
		}
		return turnAway(conn, why)
	}
	return nil
}

// turnAway tells a viewer why it may not come in, instead of how it may.
func turnAway(conn io.Writer, why string) error {
	_, err := conn.Write(append([]byte{0}, reasoned(why)...))
	return errors.Join(errRefused, err)
}

// challenge has a viewer show that it knows one of the passwords, and gives its number;
// -1 for a wrong one, which has been told nothing yet.
func challenge(conn io.ReadWriter, passwords func() []string) (int, error) {
	if _, err := conn.Write([]byte{1, securityVNC}); err != nil {
		return -1, err
	}
	var chosen [1]byte
	if _, err := io.ReadFull(conn, chosen[:]); err != nil {
		return -1, err
	}
	if chosen[0] != securityVNC {
		return -1, fmt.Errorf("the viewer chose security %d, which was not offered", chosen[0])
	}
	var drawn, answer [challengeSize]byte
	_, _ = rand.Read(drawn[:])
	if _, err := conn.Write(drawn[:]); err != nil {
		return -1, err
	}
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return -1, err
	}
	found := -1
	for i, p := range passwords() {
		if matches(p, drawn, answer) {
			found = i
		}
	}
	return found, nil
}

// failed ends a handshake after the password.
func failed(conn io.Writer, why string) error {
	_, err := conn.Write(append([]byte{0, 0, 0, 1}, reasoned(why)...))
	return errors.Join(errRefused, err)
}

func reasoned(why string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(why))), why...)
}

// enter shakes hands with a server that asks for no password.
func enter(conn net.Conn) error {
	var got [len(version)]byte
	if _, err := io.ReadFull(conn, got[:]); err != nil {
		return fmt.Errorf("reading the server's version: %w", err)
	}
	if string(got[:]) != version {
		return fmt.Errorf("the server speaks %q, not version 3.8", got)
	}
	if _, err := io.WriteString(conn, version); err != nil {
		return err
	}
	var n [1]byte
	if _, err := io.ReadFull(conn, n[:]); err != nil {
		return fmt.Errorf("reading how the server lets in: %w", err)
	}
	if n[0] == 0 {
		return fmt.Errorf("the server lets nobody in: %s", serverReason(conn))
	}
	types := make([]byte, n[0])
	if _, err := io.ReadFull(conn, types); err != nil {
		return fmt.Errorf("reading how the server lets in: %w", err)
	}
	if !bytes.Contains(types, []byte{securityNone}) {
		return fmt.Errorf("the server lets nobody in without a password: %v", types)
	}
	if _, err := conn.Write([]byte{securityNone}); err != nil {
		return err
	}
	var result [4]byte
	if _, err := io.ReadFull(conn, result[:]); err != nil {
		return fmt.Errorf("reading whether the server lets in: %w", err)
	}
	if result != [4]byte{} {
		return fmt.Errorf("the server does not let in: %s", serverReason(conn))
	}
	return nil
}

func serverReason(conn io.Reader) string {
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return "without a reason"
	}
	text, _ := io.ReadAll(io.LimitReader(conn, int64(min(binary.BigEndian.Uint32(size[:]), maxReason))))
	return fmt.Sprintf("%q", text)
}
