package interceptor

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// OpenDir implements [fuse.RawFileSystem].
func (s dirCalls) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	if in.NodeId == topNode {
		return fuse.OK
	}
	n := s.nodes.get(in.NodeId)
	d, err := s.directory(n)
	if err != nil {
		return status(err)
	}
	defer d.done()
	fd, err := unix.Openat2(d.fd, ".", &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: beneath})
	if err != nil {
		return status(err)
	}
	if d.kept {
		out.OpenFlags |= fuse.FOPEN_KEEP_CACHE | fuse.FOPEN_CACHE_DIR
	}
	return status(s.hand(&handle{fd: fd, node: n, dir: true}, out))
}

// ReleaseDir implements [fuse.RawFileSystem].
func (s dirCalls) ReleaseDir(in *fuse.ReleaseIn) {
	if h := s.opened.take(in.Fh, true); h != nil {
		h.close()
	}
}

// ReadDir implements [fuse.RawFileSystem]. Positions are those of the host's file system.
func (s dirCalls) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	if in.NodeId == topNode {
		s.listRoots(in.Offset, out)
		return fuse.OK
	}
	h, done, err := s.opened.use(in.Fh, true)
	if err != nil {
		return status(err)
	}
	defer done()
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, err := unix.Seek(h.fd, int64(in.Offset), 0); err != nil {
		return status(err)
	}
	buf := make([]byte, min(max(in.Size, 4096), 64<<10))
	for {
		n, err := unix.Getdents(h.fd, buf)
		if err != nil || n == 0 {
			return status(err)
		}
		for rest := buf[:n]; len(rest) > 0; {
			e, length := direntry(rest)
			if length == 0 {
				return fuse.EIO
			}
			if here := e.Name == "." || e.Name == ".."; !here && !h.node.root.serves(e.Name) {
				rest = rest[length:]
				continue
			}
			if !out.AddDirEntry(e) {
				return fuse.OK
			}
			rest = rest[length:]
		}
	}
}

// direntry reads one struct linux_dirent64: inode, offset, length, type, name.
func direntry(buf []byte) (e fuse.DirEntry, length int) {
	const header = 19
	if len(buf) < header {
		return e, 0
	}
	length = int(binary.NativeEndian.Uint16(buf[16:]))
	if length < header || length > len(buf) {
		return e, 0
	}
	name, _, _ := bytes.Cut(buf[header:length], []byte{0})
	return fuse.DirEntry{
		Ino: binary.NativeEndian.Uint64(buf), Off: binary.NativeEndian.Uint64(buf[8:]), Mode: uint32(buf[18]) << 12, Name: string(name),
	}, length
}

func (s dirCalls) listRoots(from uint64, out *fuse.DirEntryList) {
	names := []string{".", ".."}
	for i := range s.roots {
		names = append(names, strconv.Itoa(i))
	}
	for i := from; i < uint64(len(names)); i++ {
		if !out.AddDirEntry(fuse.DirEntry{Name: names[i], Ino: i + 1, Off: i + 1, Mode: unix.S_IFDIR}) {
			return
		}
	}
}
