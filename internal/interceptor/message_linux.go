package interceptor

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Requests of linux/fuse.h that are answered here.
const (
	opLookup      = 1
	opForget      = 2
	opGetattr     = 3
	opSetattr     = 4
	opSymlink     = 6
	opMknod       = 8
	opMkdir       = 9
	opLink        = 13
	opWrite       = 16
	opSetxattr    = 21
	opGetxattr    = 22
	opListxattr   = 23
	opRead        = 15
	opInit        = 26
	opReaddir     = 28
	opCreate      = 35
	opInterrupt   = 36
	opDestroy     = 38
	opNotifyReply = 41
	opBatchForget = 42
)

const (
	inHeader  = 40 // struct fuse_in_header
	outHeader = 16 // struct fuse_out_header
	// MaxMessage bounds a request and an answer, in bytes.
	MaxMessage = maxWrite + 16<<10
)

// shape is what follows the header of a request: a structure of so many bytes, and so many
// names that end with a zero byte.
type shape struct{ size, names int }

var shapes = map[uint32]shape{
	opLookup: {0, 1}, opForget: {8, 0}, opGetattr: {16, 0}, opSetattr: {88, 0}, 5: {0, 0}, /* readlink */
	opSymlink: {0, 2}, opMknod: {16, 1}, opMkdir: {8, 1}, 10: {0, 1} /* unlink */, 11: {0, 1}, /* rmdir */
	12: {8, 2} /* rename */, opLink: {8, 1}, 14: {8, 0} /* open */, opRead: {40, 0}, opWrite: {40, 0},
	17: {0, 0} /* statfs */, 18: {24, 0} /* release */, 20: {16, 0} /* fsync */, opSetxattr: {8, 1}, opGetxattr: {8, 1},
	opListxattr: {8, 0}, 24: {0, 1} /* removexattr */, 25: {24, 0} /* flush */, opInit: {16, 0}, 27: {8, 0}, /* opendir */
	opReaddir: {40, 0}, 29: {24, 0} /* releasedir */, 30: {16, 0} /* fsyncdir */, opCreate: {16, 1},
	opInterrupt: {8, 0}, opDestroy: {0, 0}, opBatchForget: {8, 0}, 43: {32, 0}, /* fallocate */
	45: {16, 2} /* rename2 */, 46: {24, 0} /* lseek */, 47: {56, 0}, /* copy_file_range */
}

// request is the header of one.
type request struct {
	op, length   uint32
	unique, node uint64
}

// parse reads a header. Of a stream it says how long the whole request is.
func parse(buf []byte) (r request, err error) {
	if len(buf) < inHeader {
		return r, unix.EINVAL
	}
	r = request{
		length: binary.NativeEndian.Uint32(buf), op: binary.NativeEndian.Uint32(buf[4:]),
		unique: binary.NativeEndian.Uint64(buf[8:]), node: binary.NativeEndian.Uint64(buf[16:]),
	}
	if r.length < inHeader || r.length > MaxMessage {
		return r, unix.EINVAL
	}
	return r, nil
}

// silent says that a request is never answered.
func (r request) silent() bool {
	return r.op == opForget || r.op == opBatchForget || r.op == opNotifyReply
}

// check says what is wrong with a whole request, before anything is made of it: it has the
// size that it says, the structure and the names that its kind has, and asks for no more
// than an answer can hold.
func check(r request, buf []byte) error {
	if uint64(len(buf)) != uint64(r.length) {
		return unix.EINVAL
	}
	kind, known := shapes[r.op]
	if !known {
		return unix.ENOSYS
	}
	if binary.NativeEndian.Uint16(buf[36:]) != 0 { // extensions: none was asked for
		return unix.EINVAL
	}
	if r.node == ^uint64(0) {
		return unix.ESTALE // go-fuse has a node of its own there
	}
	body := buf[inHeader:]
	if len(body) < kind.size {
		return unix.EINVAL
	}
	field := func(at int) uint32 { return binary.NativeEndian.Uint32(body[at:]) }
	rest := body[kind.size:]
	for range kind.names {
		i := bytes.IndexByte(rest, 0)
		if i < 0 || i >= unix.PathMax {
			return unix.EINVAL
		}
		rest = rest[i+1:]
	}
	switch r.op {
	case opWrite:
		if uint64(len(rest)) != uint64(field(16)) {
			return unix.EINVAL
		}
		return nil
	case opSetxattr:
		if uint64(len(rest)) != uint64(field(0)) || len(rest) > maxXattrValue {
			return unix.EINVAL
		}
		return nil
	case opRead, opReaddir:
		if field(16) > maxWrite {
			return unix.EINVAL
		}
	case opGetxattr, opListxattr:
		if field(0) > maxXattrValue {
			return unix.E2BIG
		}
	case opBatchForget:
		if uint64(len(rest)) != 16*uint64(field(0)) {
			return unix.EINVAL
		}
		return nil
	case opInit:
		return nil // it has grown over the years
	}
	if len(rest) != 0 {
		return unix.EINVAL
	}
	return nil
}

// refusal is the answer to a request that cannot be served.
func refusal(out []byte, unique uint64, err unix.Errno) []byte {
	out = out[:outHeader]
	binary.NativeEndian.PutUint32(out, outHeader)
	binary.NativeEndian.PutUint32(out[4:], uint32(-int32(err)))
	binary.NativeEndian.PutUint64(out[8:], unique)
	return out
}
