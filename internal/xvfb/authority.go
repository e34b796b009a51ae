package xvfb

import (
	"crypto/rand"
	"encoding/binary"
	"strconv"
)

// AuthName is the one way to authenticate that is used.
const AuthName = "MIT-MAGIC-COOKIE-1"

// CookieSize is the length of a cookie in bytes.
const CookieSize = 16

// NewCookie gives a cookie that nobody can guess.
func NewCookie() []byte {
	b := make([]byte, CookieSize)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the program instead
	return b
}

// familyWild matches every way to reach a display, whatever the machine's name
// is: FamilyWild of Xauth(3).
const familyWild = 0xffff

// Authority gives the content of an authority file with one cookie for display
// :number. The format is Xauth(3)'s: a family, then address, number, name and
// data, each with its length, all in big-endian 16 bits.
func Authority(number int, cookie []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, familyWild)
	for _, part := range []string{"", strconv.Itoa(number), AuthName, string(cookie)} {
		b = binary.BigEndian.AppendUint16(b, uint16(len(part)))
		b = append(b, part...)
	}
	return b
}
