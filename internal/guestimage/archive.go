package guestimage

import (
	"fmt"
	"strings"
)

// archive is one that a kernel unpacks at its start: cpio in the form "newc", see
// Documentation/driver-api/early-userspace/buffer-format.rst of Linux. Several may follow each other.
type archive struct {
	text  []byte
	files int
}

// Modes of entries, as in st_mode.
const (
	asDir    = 0o040755
	asFile   = 0o100644
	asRun    = 0o100755
	asDevice = 0o020666
)

// blockSize is what the length of an archive is a multiple of.
const blockSize = 512

// add adds an entry that is root's and has no time. A device has numbers.
func (a *archive) add(name string, mode, major, minor uint32, data []byte) {
	a.files++
	links := 1
	if mode == asDir {
		links = 2
	}
	fields := []uint32{uint32(a.files), mode, 0, 0, uint32(links), 0, uint32(len(data)), 0, 0, major, minor, uint32(len(name) + 1), 0}
	a.text = append(a.text, "070701"...)
	for _, f := range fields {
		a.text = fmt.Appendf(a.text, "%08X", f)
	}
	a.text = append(append(a.text, name...), 0)
	a.pad(4)
	a.text = append(a.text, data...)
	a.pad(4)
}

func (a *archive) pad(to int) {
	if over := len(a.text) % to; over != 0 {
		a.text = append(a.text, strings.Repeat("\x00", to-over)...)
	}
}

// end gives the archive.
func (a *archive) end() []byte {
	a.add("TRAILER!!!", 0, 0, 0, nil)
	a.pad(blockSize)
	return a.text
}
