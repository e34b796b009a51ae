package interceptor

import (
	"bytes"
	"encoding/binary"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// How long the other kernel may keep a name, and what an object is, without asking again. A
// change from outside is told at once. The second bounds what is never told: a file that is mapped
// outside and written to, or that is written by a name elsewhere.
const (
	nameValid = time.Minute
	attrValid = time.Second
	keptValid = time.Hour // of both, in a root that is kept
)

// maxMarks bounds the directories that one server has ever watched.
const maxMarks = 1 << 16

// watched are the changes in a directory that are told: of its entries and of itself.
const watched = unix.FAN_CREATE | unix.FAN_DELETE | unix.FAN_MOVED_FROM | unix.FAN_MOVED_TO | unix.FAN_MODIFY |
	unix.FAN_CLOSE_WRITE | unix.FAN_ATTRIB | unix.FAN_ONDIR | unix.FAN_EVENT_ON_CHILD

// told are file systems that this kernel alone changes.
var told = map[int64]bool{
	unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true, unix.BTRFS_SUPER_MAGIC: true, unix.TMPFS_MAGIC: true, unix.F2FS_SUPER_MAGIC: true,
}

// watch tells the other kernel what changes outside, which lets it remember names. What this
// process changes is known there already, and is told only where a request says so.
type watch struct {
	s    *Server
	file *os.File // nil where this system tells nothing

	looks atomic.Uint64 // counts directories that began to be watched
	gate  sync.RWMutex  // held for reading while an answer is sent
	epoch uint64        // counts what was told

	mu    sync.Mutex
	cond  *sync.Cond
	of    map[string]*node // watched directories by their handles
	marks int
	queue [][]byte // to be told
	ended bool
	conns map[*service]struct{}
	done  sync.WaitGroup
}

func (w *watch) init(s *Server) {
	w.s, w.of, w.conns = s, make(map[string]*node), make(map[*service]struct{})
	w.cond = sync.NewCond(&w.mu)
	w.done.Add(1)
	go w.send()
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_REPORT_DFID_NAME|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK, unix.O_RDONLY)
	if err != nil {
		return // all is asked anew, as where the system is too old for this
	}
	w.file = os.NewFile(uintptr(fd), "fanotify")
	w.done.Add(1)
	go w.listen()
}

func (w *watch) close() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.cond.Broadcast()
	if w.file != nil {
		w.file.Close()
	}
	w.done.Wait()
}

// begin watches the directory that a node is, and that a descriptor pins. Where that
// cannot be, nothing in it is remembered.
func (w *watch) begin(n *node, fd int) {
	if w.file == nil || n.watched.Load() != 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if n.watched.Load() != 0 || w.marks >= maxMarks || w.ended {
		return
	}
	key, err := handleOf(fd)
	if err == nil {
		err = w.mark(fd)
	}
	if err != nil {
		w.marks = maxMarks // it is full, or a file system that says nothing
		return
	}
	w.marks++
	n.handle, w.of[key] = key, n
	n.watched.Store(w.looks.Add(1))
}

func (w *watch) mark(fd int) error {
	connection, err := w.file.SyscallConn()
	if err != nil {
		return err
	}
	marked := error(unix.EBADF)
	err = connection.Control(func(own uintptr) {
		marked = unix.FanotifyMark(int(own), unix.FAN_MARK_ADD|unix.FAN_MARK_ONLYDIR, watched, fd, ".")
	})
	if err != nil {
		return err
	}
	return marked
}

// since says whether all that changes in a directory is told since a look.
func (w *watch) since(n *node, looked uint64) bool {
	began := n.watched.Load()
	return began != 0 && began <= looked
}

// forgotten is told that a node is not used any more. The kernel's mark stays with its directory.
func (w *watch) forgotten(n *node) {
	if n == nil || n.watched.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of[n.handle] == n {
		delete(w.of, n.handle)
	}
}

// handleOf names a directory as events do.
func handleOf(fd int) (string, error) {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return "", err
	}
	if !told[fs.Type] {
		return "", unix.EOPNOTSUPP
	}
	h, _, err := unix.NameToHandleAt(fd, "", unix.AT_EMPTY_PATH)
	if err != nil {
		return "", err
	}
	return handleKey(fs.Fsid.Val[0], fs.Fsid.Val[1], h.Type(), h.Bytes()), nil
}

func handleKey(fs0, fs1, kind int32, handle []byte) string {
	buf := make([]byte, 0, 12+len(handle))
	for _, n := range []int32{fs0, fs1, kind} {
		buf = binary.NativeEndian.AppendUint32(buf, uint32(n))
	}
	return string(append(buf, handle...))
}

// listen takes what the kernel tells, until the file is closed.
func (w *watch) listen() {
	defer w.done.Done()
	buf := make([]byte, 64<<10)
	own := int32(os.Getpid())
	for {
		n, err := w.file.Read(buf)
		if err != nil {
			return
		}
		var out [][]byte
		for rest := buf[:n]; len(rest) > 0; {
			e, length := eventOf(rest)
			if length == 0 {
				return
			}
			rest = rest[length:]
			switch {
			case e.mask&unix.FAN_Q_OVERFLOW != 0:
				out = append(out, w.everything()...)
			case e.pid != own:
				out = append(out, w.outdated(e)...)
			}
		}
		w.tell(out...)
	}
}

// event is what was done to an entry of a directory, or to the directory where the name is ".".
type event struct {
	mask uint64
	pid  int32
	dir  string // its handle
	name string
}

// eventOf reads struct fanotify_event_metadata with the first struct fanotify_event_info_fid.
func eventOf(buf []byte) (e event, length int) {
	const header, info = 24, 20
	if len(buf) < header {
		return e, 0
	}
	length = int(binary.NativeEndian.Uint32(buf))
	if length < header || length > len(buf) || buf[4] != unix.FANOTIFY_METADATA_VERSION {
		return e, 0
	}
	e.mask, e.pid = binary.NativeEndian.Uint64(buf[8:]), int32(binary.NativeEndian.Uint32(buf[20:]))
	rest := buf[header:length]
	if len(rest) < info || int(binary.NativeEndian.Uint16(rest[2:])) > len(rest) {
		return e, length
	}
	rest = rest[:binary.NativeEndian.Uint16(rest[2:])]
	word := func(at int) int32 { return int32(binary.NativeEndian.Uint32(rest[at:])) }
	size := int(word(12))
	if size < 0 || size > len(rest)-info {
		return e, length
	}
	e.dir = handleKey(word(4), word(8), word(16), rest[info:info+size])
	name, _, _ := bytes.Cut(rest[info+size:], []byte{0})
	e.name = string(name)
	return e, length
}

// outdated says what the other kernel has to forget after an event.
func (w *watch) outdated(e event) [][]byte {
	w.mu.Lock()
	dir := w.of[e.dir]
	w.mu.Unlock()
	if dir == nil {
		return nil
	}
	out := [][]byte{forgetNode(dir, false)}
	if e.name == "" || e.name == "." || !dir.root.serves(e.name) {
		return out
	}
	if child := w.s.nodes.child(dir, e.name); child != nil {
		out = append(out, forgetNode(child, e.mask&(unix.FAN_MODIFY|unix.FAN_CLOSE_WRITE) != 0))
	}
	if e.mask&(unix.FAN_CREATE|unix.FAN_DELETE|unix.FAN_MOVED_FROM|unix.FAN_MOVED_TO) != 0 {
		out = append(out, forgetName(name{dir, e.name}))
	}
	return out
}

// everything says that nothing may be remembered: events were lost.
func (w *watch) everything() (out [][]byte) {
	for n, names := range w.s.nodes.all() {
		out = append(out, forgetNode(n, true))
		for _, k := range names {
			out = append(out, forgetName(k))
		}
	}
	return out
}

// Notifications of linux/fuse.h, which are answers to no request.
const (
	notifyInode = 2
	notifyEntry = 3
)

// forgetNode has the other kernel ask what a node is, and read it anew where its content is another.
func forgetNode(n *node, content bool) []byte {
	from := int64(-1)
	if content {
		from = 0
	}
	buf := notification(notifyInode, n.id)
	buf = binary.NativeEndian.AppendUint64(buf, uint64(from))
	return sized(binary.NativeEndian.AppendUint64(buf, 0))
}

// forgetName has the other kernel look a name up.
func forgetName(k name) []byte {
	buf := notification(notifyEntry, k.in.id)
	buf = binary.NativeEndian.AppendUint32(buf, uint32(len(k.name)))
	buf = binary.NativeEndian.AppendUint32(buf, 0)
	return sized(append(append(buf, k.name...), 0))
}

func notification(code uint32, node uint64) []byte {
	buf := binary.NativeEndian.AppendUint32(make([]byte, 4, 64), code)
	return binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint64(buf, 0), node)
}

func sized(buf []byte) []byte {
	binary.NativeEndian.PutUint32(buf, uint32(len(buf)))
	return buf
}

// tell has the other kernel forget something. An answer that was looked up before goes out
// first, or is not remembered.
func (w *watch) tell(out ...[]byte) {
	if len(out) == 0 {
		return
	}
	w.gate.Lock()
	w.epoch++
	w.gate.Unlock()
	w.mu.Lock()
	w.queue = append(w.queue, out...)
	w.mu.Unlock()
	w.cond.Signal()
}

// send sends what is to be told. The other kernel takes it when it has done what it does in
// that directory, for which it may wait for an answer: this is a thread of its own.
func (w *watch) send() {
	defer w.done.Done()
	for {
		w.mu.Lock()
		for len(w.queue) == 0 && !w.ended {
			w.cond.Wait()
		}
		out, conns := w.queue, make([]*service, 0, len(w.conns))
		for v := range w.conns {
			conns = append(conns, v)
		}
		w.queue = nil
		ended := w.ended
		w.mu.Unlock()
		if ended {
			return
		}
		for _, v := range conns {
			v.telling.Lock()
			for _, message := range out {
				if v.begun.Load() && !v.over.Load() {
					_ = v.conn.Write(message) // what is not remembered cannot be forgotten
				}
			}
			v.telling.Unlock()
		}
	}
}

// joined is told of a connection, and gives what is to be called at its end.
func (w *watch) joined(v *service) func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns[v] = struct{}{}
	return func() {
		w.mu.Lock()
		delete(w.conns, v)
		w.mu.Unlock()
		v.telling.Lock() // nothing uses the connection any more
		defer v.telling.Unlock()
	}
}

// began gives what an answer needs to know whether something was told since.
func (w *watch) began() uint64 {
	w.gate.RLock()
	defer w.gate.RUnlock()
	return w.epoch
}

// answered sends an answer; what was told since its request came may be what it says.
func (w *watch) answered(c Conn, op uint32, answer []byte, since uint64) error {
	w.gate.RLock()
	defer w.gate.RUnlock()
	if w.epoch != since {
		notRemembered(op, answer)
	}
	return c.Write(answer)
}

// notRemembered takes the validity out of an answer.
func notRemembered(op uint32, answer []byte) {
	from, to := 0, 0
	switch op {
	case opLookup, opSymlink, opMknod, opMkdir, opLink, opCreate: // struct fuse_entry_out
		from, to = outHeader+16, outHeader+40
	case opGetattr, opSetattr: // struct fuse_attr_out
		from, to = outHeader, outHeader+12
	}
	if len(answer) >= to {
		clear(answer[from:to])
	}
}
