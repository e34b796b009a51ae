package dircache

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
)

// The bytes of a cache: magic, the digest of what it is about, that of all that follows;
// then the time of the walk, file systems, the numbers of directories and entries, and the
// directories, level by level. Numbers are varints, as in encoding/binary.
const (
	magic      = "carrel dirs 1\n"
	keySize    = sha256.Size
	headerSize = len(magic) + keySize + sha256.Size
	maxDirs    = 1 << 20
	maxEntries = 1 << 22
	maxSystems = 1 << 10
	maxName    = 255
)

const (
	dirKnown = 1 // the stamp follows
	entryDir = 1
	entrySub = 2 // it is one of the directories
)

var errDamaged = errors.New("a damaged cache of directories")

func digest(data []byte) [keySize]byte { return sha256.Sum256(data) }

// encode gives nil where there is more than could be read back.
func encode(root *Dir, key [keySize]byte, systems map[uint64]fileSystem, began time.Time) []byte {
	level, entries := []*Dir{root}, 0
	for i := 0; i < len(level); i++ {
		entries += len(level[i].Entries)
		for j := range level[i].Entries {
			if sub := level[i].Entries[j].Sub; sub != nil {
				level = append(level, sub)
			}
		}
	}
	if len(level) > maxDirs || entries > maxEntries || len(systems) > maxSystems {
		return nil
	}
	out := make([]byte, headerSize, headerSize+1024+len(level)*48+entries*24)
	out = binary.AppendVarint(out, began.UnixNano())
	out = binary.AppendUvarint(out, uint64(len(systems)))
	devs := slices.Sorted(maps.Keys(systems))
	for _, dev := range devs {
		out = appendNumbers(out, dev, systems[dev].kind, systems[dev].id)
	}
	out = appendNumbers(out, uint64(len(level)), uint64(entries))
	for _, d := range level {
		out = d.append(out)
	}
	sum := sha256.Sum256(out[headerSize:])
	copy(out, magic)
	copy(out[len(magic):], key[:])
	copy(out[len(magic)+keySize:], sum[:])
	return out
}

func appendNumbers(out []byte, numbers ...uint64) []byte {
	for _, n := range numbers {
		out = binary.AppendUvarint(out, n)
	}
	return out
}

func (d *Dir) append(out []byte) []byte {
	if d.known {
		s := &d.stamp
		out = append(out, dirKnown)
		out = appendNumbers(out, s.dev, s.ino, s.size, uint64(s.nlink), uint64(s.ctime.nsec), uint64(s.mtime.nsec))
		out = binary.AppendVarint(binary.AppendVarint(out, s.ctime.sec), s.mtime.sec)
	} else {
		out = append(out, 0)
	}
	out = appendNumbers(out, uint64(len(d.Entries)))
	for i := range d.Entries {
		e := &d.Entries[i]
		var flags byte
		if e.Dir {
			flags |= entryDir
		}
		if e.Sub != nil {
			flags |= entrySub
		}
		out = append(out, flags)
		out = append(appendNumbers(out, uint64(len(e.Name))), e.Name...)
	}
	return out
}

// decode gives what a walk at another time has left, nil for what is damaged, about
// something else, or of a time that has not come yet: the clock went back.
func decode(data []byte, key [keySize]byte, now time.Time) (*Dir, map[uint64]fileSystem) {
	if len(data) < headerSize || len(data) > MaxSize || string(data[:len(magic)]) != magic {
		return nil, nil
	}
	sum := sha256.Sum256(data[headerSize:])
	if [keySize]byte(data[len(magic):]) != key || [sha256.Size]byte(data[len(magic)+keySize:]) != sum {
		return nil, nil
	}
	root, systems, began, err := decodeBody(string(data[headerSize:]))
	if err != nil || began > now.UnixNano() {
		return nil, nil
	}
	return root, systems
}

// decoder reads what [encode] has written after the header.
type decoder struct {
	rest string
	err  error
}

func decodeBody(body string) (root *Dir, systems map[uint64]fileSystem, began int64, err error) {
	d := &decoder{rest: body}
	began = d.signed()
	systems = make(map[uint64]fileSystem)
	for range d.count(maxSystems) {
		dev := d.number()
		systems[dev] = fileSystem{d.number(), d.number()}
	}
	dirs := make([]Dir, d.count(maxDirs))
	entries := make([]Entry, d.count(maxEntries))
	known, used := 1, 0 // directories that an entry names, and entries that a directory has
	for i := range dirs {
		n := d.dir(&dirs[i])
		if n > len(entries)-used || i >= known {
			d.fail()
			break
		}
		if n > 0 {
			dirs[i].Entries = entries[used : used+n : used+n]
		}
		for j := range dirs[i].Entries {
			if !d.entry(&dirs[i].Entries[j]) {
				continue
			}
			if known == len(dirs) {
				d.fail()
				break
			}
			dirs[i].Entries[j].Sub = &dirs[known]
			known++
		}
		used += n
	}
	if d.err != nil || d.rest != "" || len(dirs) == 0 || known != len(dirs) || used != len(entries) {
		return nil, nil, 0, errDamaged
	}
	return &dirs[0], systems, began, nil
}

func (d *decoder) fail() { d.rest, d.err = "", errDamaged }

// dir reads all but the entries, and how many they are.
func (d *decoder) dir(to *Dir) int {
	if to.known = d.flags(dirKnown) != 0; to.known {
		s := &to.stamp
		s.dev, s.ino, s.size, s.nlink = d.number(), d.number(), d.number(), uint32(d.number())
		s.ctime.nsec, s.mtime.nsec = uint32(d.number()), uint32(d.number())
		s.ctime.sec, s.mtime.sec = d.signed(), d.signed()
	}
	return d.count(maxEntries)
}

// entry says whether it is one of the directories, too.
func (d *decoder) entry(e *Entry) (sub bool) {
	flags := d.flags(entryDir | entrySub)
	n := d.count(maxName)
	if d.err != nil {
		return false
	}
	e.Name, d.rest = d.rest[:n], d.rest[n:]
	e.Dir, sub = flags&entryDir != 0, flags&entrySub != 0
	if e.Name == "" || e.Name == "." || e.Name == ".." || strings.ContainsAny(e.Name, "/\x00") || sub && !e.Dir {
		d.fail()
	}
	return sub && d.err == nil
}

func (d *decoder) flags(all byte) byte {
	if d.rest == "" || d.rest[0]&^all != 0 {
		d.fail()
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

// count is a number of things of which each takes a byte at least.
func (d *decoder) count(most int) int {
	n := d.number()
	if n > uint64(most) || n > uint64(len(d.rest)) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) signed() int64 {
	u := d.number()
	n := int64(u >> 1)
	if u&1 != 0 {
		n = ^n
	}
	return n
}

// number reads a varint.
func (d *decoder) number() (n uint64) {
	for i := 0; i < len(d.rest) && i < binary.MaxVarintLen64; i++ {
		b := d.rest[i]
		if i == binary.MaxVarintLen64-1 && b > 1 {
			break
		}
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			d.rest = d.rest[i+1:]
			return n
		}
	}
	d.fail()
	return 0
}
