package journal

import (
	"hash/crc32"
	"sync"
)

// FrameBytes is what stands before each record: its length and its CRC32C, little endian.
const FrameBytes = 8

var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }) // not at every start of the program

// AppendFrame adds an entry to a file, in a frame as that of a record.
func AppendFrame(to, entry []byte) []byte {
	var frame [FrameBytes]byte
	putLE32(frame[:], uint32(len(entry)))
	putLE32(frame[4:], crc32.Checksum(entry, castagnoli()))
	return append(append(to, frame[:]...), entry...)
}

// Frame gives what the first frame of data holds, nil where no whole one begins, or one
// with more than most bytes.
func Frame(data []byte, most int) []byte {
	if len(data) < FrameBytes {
		return nil
	}
	n := int64(getLE32(data))
	if n == 0 || n > int64(most) || n > int64(len(data)-FrameBytes) {
		return nil
	}
	body := data[FrameBytes : FrameBytes+n]
	if crc32.Checksum(body, castagnoli()) != getLE32(data[4:]) {
		return nil
	}
	return body
}

func putLE32(to []byte, n uint32) {
	to[0], to[1], to[2], to[3] = byte(n), byte(n>>8), byte(n>>16), byte(n>>24)
}

func getLE32(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}
