package gitconf

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// Lengths of an object's name in bytes, by extensions.objectFormat.
const (
	SHA1   = 20
	SHA256 = 32
)

// IndexEntry is one entry of an index. Its bytes are valid until the next one.
type IndexEntry struct {
	Name   []byte
	Object []byte // name of the object that is checked out there
	Mode   uint32 // of the file, 0120000 for a link, 0160000 for a repository of its own
}

// IndexEntries gives every entry of an index to check, and the first error of that or of the
// file. The format is that of gitformat-index(5), versions 2 to 4; hash is the length of an
// object's name. Git writes files by these paths and does not look at them again, so what
// two readers could take for different paths is an error: git reads one after the other, or
// in blocks that an extension names.
//
// The names of an empty file are none. What comes after the entries is looked at for that
// extension alone.
func IndexEntries(text []byte, hash int, check func(e IndexEntry) error) error {
	const header, stat, mode = 12, 40, 24
	if len(text) == 0 {
		return nil
	}
	if len(text) < header+hash || string(text[:4]) != "DIRC" {
		return errors.New("it is no index of git")
	}
	version, count := binary.BigEndian.Uint32(text[4:]), binary.BigEndian.Uint32(text[8:])
	if version < 2 || version > 4 {
		return fmt.Errorf("it is an index of version %d; 2 to 4 are known", version)
	}
	var starts []int // of entries
	var name []byte
	end := len(text) - hash
	at := header
	for range count {
		start := at
		if at += stat + hash + 2; at > end {
			return errShort
		}
		flags := binary.BigEndian.Uint16(text[at-2:])
		if flags&0x4000 != 0 {
			at += 2
		}
		whole := true
		if version == 4 {
			strip, n := offsetNumber(text[min(at, end):end])
			if n == 0 || strip > uint64(len(name)) {
				return errShort
			}
			at += n
			whole = strip == uint64(len(name))
			name = name[:len(name)-int(strip)]
		} else {
			name = name[:0]
		}
		n := bytes.IndexByte(text[min(at, end):end], 0)
		if n < 0 {
			return errShort
		}
		name = append(name, text[at:at+n]...)
		if length := int(flags & 0xfff); length != min(len(name), 0xfff) {
			return fmt.Errorf("an entry is called %q, and says that its name has %d bytes", name, length)
		}
		if at += n + 1; version < 4 {
			at = start + (at-1-start+8)&^7
		}
		e := IndexEntry{Name: name, Object: text[start+stat:][:hash], Mode: binary.BigEndian.Uint32(text[start+mode:])}
		if err := check(e); err != nil {
			return err
		}
		if whole {
			starts = append(starts, start)
		} else {
			starts = append(starts, -1) // it needs the one before
		}
	}
	if at > end {
		return errShort
	}
	return blocks(text[:end], at, starts)
}

var errShort = errors.New("it ends in the middle of an entry")

// blocks judges the extension by which git reads entries in several threads. Git finds
// extensions behind the entries, or where another one, at the very end, says.
func blocks(text []byte, at int, starts []int) error {
	const said = 4 + 4 + 4 // signature, size, offset; a hash follows
	for _, hash := range []int{SHA1, SHA256} {
		if last := len(text) - said - hash; last >= 0 && string(text[last:last+4]) == "EOIE" && (last < at || int(binary.BigEndian.Uint32(text[last+8:])) != at) {
			return errors.New("its entries end elsewhere than it says")
		}
	}
	for at+8 <= len(text) {
		size := uint64(binary.BigEndian.Uint32(text[at+4:]))
		if size > uint64(len(text)-at-8) {
			return errors.New("it ends in the middle of an extension")
		}
		body := text[at+8:][:size]
		if string(text[at:at+4]) == "IEOT" && !blocksOf(body, starts) {
			return errors.New("its entries are elsewhere than it says")
		}
		at += 8 + int(size)
	}
	return nil
}

// blocksOf says whether blocks of entries are what one reads who knows of none.
func blocksOf(body []byte, starts []int) bool {
	if len(body)%8 != 4 || binary.BigEndian.Uint32(body) != 1 {
		return false
	}
	next := uint64(0)
	for body = body[4:]; len(body) > 0; body = body[8:] {
		if next >= uint64(len(starts)) || int64(binary.BigEndian.Uint32(body)) != int64(starts[next]) {
			return false
		}
		next += uint64(binary.BigEndian.Uint32(body[4:]))
	}
	return next == uint64(len(starts))
}

// IndexOtherwise judges by its names an index that was written for names of objects of
// another length than hash. Git reads it all the same, and believes what an entry says of
// its length; nil is also what it gives up on.
func IndexOtherwise(text []byte, hash int, check func(name string) error) error {
	const header, stat, said, extended = 12, 40, 4 + 4 + 4, 0x4000
	if len(text) < header || string(text[:4]) != "DIRC" {
		return nil
	}
	var bad error
	count, at := binary.BigEndian.Uint32(text[8:]), header
	if last := len(text) - said - 2*hash; binary.BigEndian.Uint32(text[4:]) > 3 || last >= 0 && string(text[last:last+4]) == "EOIE" {
		return errors.New("its entries are in an order that is not followed")
	}
	for ; count > 0 && at+stat+hash+4 <= len(text); count-- {
		start := at
		at += stat + hash + 2
		flags := int(binary.BigEndian.Uint16(text[at-2:]))
		if flags&extended != 0 {
			if binary.BigEndian.Uint16(text[at:])&^0x6000 != 0 {
				return nil // bits that no git knows
			}
			at += 2
		}
		name, _, _ := bytes.Cut(text[at:], []byte{0})
		length := flags & 0xfff
		if length == 0xfff {
			length = len(name)
		}
		for _, n := range []int{length, length + 1} { // with the byte in which git expects the end
			if err := check(string(name[:min(n, len(name))])); bad == nil {
				bad = err
			}
		}
		at = start + (at-start+length+8)&^7
	}
	if bad == nil && count > 0 {
		bad = errShort // what git takes for the rest is not known
	}
	return bad
}

// offsetNumber reads a number as those of OFS_DELTA entries are written (gitformat-pack(5)),
// and how many bytes it takes: 0 where there is none.
func offsetNumber(text []byte) (value uint64, n int) {
	for i, b := range text {
		if i == 8 {
			return 0, 0
		}
		if i > 0 {
			value++
		}
		value = value<<7 | uint64(b&0x7f)
		if b < 0x80 {
			return value, i + 1
		}
	}
	return 0, 0
}

// IndexWithoutStat gives a copy of an index without what git remembers of the files on the
// disk (times, device, number, owner, size) and without the checksum at its end: what two
// indexes have in common that differ by a `git status` only. nil is no whole index, or one
// without a checksum.
func IndexWithoutStat(text []byte) []byte {
	const stat, mode = 40, 24
	hash := 0
	if n := len(text) - SHA1; n > 0 && bytes.Equal(sum1(text[:n]), text[n:]) {
		hash = SHA1
	} else if n := len(text) - SHA256; n > 0 && bytes.Equal(sum256(text[:n]), text[n:]) {
		hash = SHA256
	} else {
		return nil
	}
	out := bytes.Clone(text)
	err := IndexEntries(out, hash, func(e IndexEntry) error {
		entry := out[cap(out)-cap(e.Object)-stat:][:stat] // it lies before the name of the object
		clear(entry[:mode])
		clear(entry[mode+4:])
		return nil
	})
	if err != nil {
		return nil
	}
	clear(out[len(out)-hash:])
	return out
}

func sum1(text []byte) []byte {
	sum := sha1.Sum(text)
	return sum[:]
}

func sum256(text []byte) []byte {
	sum := sha256.Sum256(text)
	return sum[:]
}
