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

// Families of Xauth(3): one matches every way to reach a display, whatever the machine's
// name is; the other a display of this machine, by its name.
const (
	familyWild  = 0xffff
	familyLocal = 256
)

// Authority gives the content of an authority file with one cookie for display
// :number, for any machine and, as python-xlib knows no such entry, for the one that is
// called host. The format is Xauth(3)'s: a family, then address, number, name and
// data, each with its length, all in big-endian 16 bits.
func Authority(number int, cookie []byte, host string) []byte {
	b := authorityEntry(nil, familyWild, "", number, cookie)
	if host == "" || len(host) > maxHost {
		return b
	}
	return authorityEntry(b, familyLocal, host, number, cookie)
}

// maxHost bounds the name of a machine, in bytes; the kernel's has 64 at most.
const maxHost = 255

func authorityEntry(b []byte, family uint16, address string, number int, cookie []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, family)
	for _, part := range []string{address, strconv.Itoa(number), AuthName, string(cookie)} {
		b = binary.BigEndian.AppendUint16(b, uint16(len(part)))
		b = append(b, part...)
	}
	return b
}
